import assert from 'node:assert/strict';
import path from 'node:path';
import esbuild from 'esbuild';
import { describe, it } from 'mocha';
import { loadedFiles } from '../../../esbuild.mjs';

const root = path.resolve(import.meta.dirname, '../../..');

/** Bytes of each source that is loaded as the extension starts, minified. */
async function startedSources(): Promise<ReadonlyMap<string, number>> {
  const { metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: ['src/extension/main.ts'],
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    external: ['vscode', 'onnxruntime-node'],
    mainFields: ['module', 'main'],
    write: false,
    metafile: true,
    outdir: 'out',
    logLevel: 'error',
  });
  const sources = loadedFiles(metafile.outputs, ['src/extension/build.ts']).flatMap((file) =>
    Object.entries(metafile.outputs[file]?.inputs ?? {}),
  );
  return new Map(sources.map(([source, { bytesInOutput }]) => [source, bytesInOutput]));
}

/** Needs no start: it comes with the first page, search, profile or edit. */
const later =
  /src\/(core\/(rules\/table|slicing\/solve|huggingface\/reader|export\/apply-layout|planner\/make-plan|layout-search\/search|schedules\/registry|measured-profile\/file)|extension\/views\/page-host|host\/(pages\/tab-parts|sessions\/layout-search)|profiler\/store)\.ts$/;

describe('what is loaded as the extension starts', () => {
  it('has the parts, and neither rules, solver, schedules, searches, pages, readers nor what writes files', async () => {
    const sources = await startedSources();
    assert.ok(sources.has('src/extension/build.ts') && sources.has('src/host/sessions/plan-sessions.ts'));
    assert.deepEqual(
      [...sources.keys()].filter((source) => later.test(source)),
      [],
    );
    const bytes = [...sources.values()].reduce((sum, each) => sum + each, 0);
    assert.ok(bytes < 430_000, `${bytes} bytes`);
  });
});
