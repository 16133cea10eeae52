import { build } from 'esbuild';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../../..');

/** A child's entry bundled as the product's is, since a process of its own cannot load TypeScript. */
export interface BundledChild {
  readonly file: string;
  readonly remove: () => Promise<void>;
}

/** Bundles a TypeScript entry file into a temporary folder, in which onnxruntime-node is found as in the clone. */
export async function bundleChild(entry: string): Promise<BundledChild> {
  const folder = await mkdtemp(join(tmpdir(), 'terapipe-profiler-'));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
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
export const profilerEntry = join(root, 'src/profiler/child.ts');
