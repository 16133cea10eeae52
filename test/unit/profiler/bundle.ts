import { build } from 'esbuild';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';

/** A child's entry bundled as the product's is, since a process of its own cannot load TypeScript. */
export interface BundledChild {
  readonly file: string;
  readonly remove: () => Promise<void>;
}

/** Bundles a TypeScript entry file into a folder of its own inside the clone, where onnxruntime-node is found. */
export async function bundleChild(entry: string): Promise<BundledChild> {
  const parent = resolve(import.meta.dirname, '../../../out/unit');
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(join(parent, 'profiler-'));
  const file = join(folder, basename(entry).replace(/\.ts$/, '.js'));
  await build({
    entryPoints: [entry],
    outfile: file,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    mainFields: ['module', 'main'],
    external: ['onnxruntime-node'],
    logLevel: 'error',
  });
  return { file, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** The product's child. */
export const profilerEntry = resolve(import.meta.dirname, '../../../src/profiler/child.ts');
