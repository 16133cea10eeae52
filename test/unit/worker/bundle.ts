import { build } from 'esbuild';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

/** A worker entry bundled as the product's is, since a thread cannot load TypeScript. */
export interface BundledWorker {
  readonly file: string;
  readonly remove: () => Promise<void>;
}

/** The product's planner: what relays, and the thread that it starts. */
export function bundlePlanner(): Promise<BundledWorker> {
  const sources = join(__dirname, '../../../src/worker');
  return bundleWorker(join(sources, 'main.ts'), { planner: join(sources, 'planner-thread.ts') });
}

/** Bundles a TypeScript entry file into a temporary folder, with others by their names there. */
export async function bundleWorker(entry: string, others: Readonly<Record<string, string>> = {}): Promise<BundledWorker> {
  const folder = await mkdtemp(join(tmpdir(), 'terapipe-worker-'));
  const name = basename(entry, '.ts');
  await build({
    entryPoints: { [name]: entry, ...others },
    outdir: folder,
    bundle: true,
    minifyWhitespace: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    logLevel: 'error',
    mainFields: ['module', 'main'],
  });
  return { file: join(folder, `${name}.js`), remove: () => rm(folder, { recursive: true, force: true }) };
}
