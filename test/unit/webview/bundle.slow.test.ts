import assert from 'node:assert/strict';
import path from 'node:path';
import esbuild from 'esbuild';
import { describe, it } from 'mocha';
import { withoutStyleProbe } from '../../../webview/without-style-probe.mjs';
import { loadedFiles } from '../loaded-files';

const root = path.resolve(import.meta.dirname, '../../..');

/** Every source that comes with some modules of the page and what they import at once. */
async function sourcesWith(entries: readonly string[]): Promise<readonly string[]> {
  const { metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: ['webview/main.ts'],
    tsconfig: 'webview/tsconfig.json',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    write: false,
    metafile: true,
    outdir: 'out',
    plugins: [withoutStyleProbe],
  });
  return loadedFiles(metafile, entries).flatMap((file) => Object.keys(metafile.outputs[file]?.inputs ?? {}));
}

const simulation = /src\/core\/(schedules\/simulate\/run|planner\/predict\/predict|time-model\/stage-cost)\.ts$/;

describe('what the page fetches', () => {
  it('has no simulation before the Slices tab, neither in the side view nor with the timeline', async () => {
    const first = ['webview/main.ts', 'webview/editor-tab/page.ts', 'webview/side-view/page.ts', 'webview/tabs/timeline/view.ts'];
    const sources = await sourcesWith(first);
    assert.ok(sources.includes('webview/tabs/timeline/view.ts') && sources.includes('webview/side-view/page.ts'));
    assert.deepEqual(
      sources.filter((source) => simulation.test(source)),
      [],
    );
    assert.ok((await sourcesWith(['webview/tabs/slices/view.ts'])).some((source) => simulation.test(source)));
  });
});
