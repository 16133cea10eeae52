import { build } from 'esbuild';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

/** A worker entry bundled as the product's is, since a thread cannot load TypeScript. */
export interface BundledWorker {
  readonly file: string;
  readonly remove: () => Promise<void>;
}

/** Bundles a TypeScript entry file into a temporary folder. */
export async function bundleWorker(entry: string): Promise<BundledWorker> {
  const folder = await mkdtemp(join(tmpdir(), 'terapipe-worker-'));
  const file = join(folder, basename(entry).replace(/\.ts$/, '.js'));
  await build({
    entryPoints: [entry],
    outfile: file,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    logLevel: 'error',
    mainFields: ['module', 'main'],
  });
  return { file, remove: () => rm(folder, { recursive: true, force: true }) };
}
