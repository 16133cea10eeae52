import assert from 'node:assert/strict';
import path from 'node:path';
import esbuild from 'esbuild';
import { before, describe, it } from 'mocha';
import { toolkitPlugins } from '../../../webview/toolkit-plugins.mjs';
import { loadedFiles } from '../../../esbuild.mjs';

const root = path.resolve(import.meta.dirname, '../../..');

/** The page as it is packaged. */
async function builtPage(): Promise<esbuild.Metafile> {
  const { metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: ['webview/main.ts'],
    tsconfig: 'webview/tsconfig.json',
    bundle: true,
    minify: true,
    legalComments: 'linked',
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: 'chrome120',
    write: false,
    metafile: true,
    outdir: 'out',
    plugins: toolkitPlugins,
  });
  return metafile;
}

const bytesOfFiles = ({ outputs }: esbuild.Metafile, files: readonly string[]): number =>
  files.reduce((sum, file) => sum + (outputs[file]?.bytes ?? 0), 0);

const simulation = /src\/core\/(schedules\/simulate\/run|planner\/predict\/predict|time-model\/stage-cost)\.ts$/;

describe('what the page fetches', () => {
  let page: esbuild.Metafile;
  before(async () => {
    page = await builtPage();
  });

  /** Every source that comes with some modules of the page and what they import at once. */
  const sourcesWith = (entries: readonly string[]): readonly string[] =>
    loadedFiles(page.outputs, entries).flatMap((file) => Object.keys(page.outputs[file]?.inputs ?? {}));

  it('has no simulation before the Slices tab, neither in the side view nor with the timeline', () => {
    const first = ['webview/main.ts', 'webview/editor-tab/page.ts', 'webview/side-view/page.ts', 'webview/tabs/timeline/view.ts'];
    const sources = sourcesWith(first);
    assert.ok(sources.includes('webview/tabs/timeline/view.ts') && sources.includes('webview/side-view/page.ts'));
    assert.deepEqual(
      sources.filter((source) => simulation.test(source)),
      [],
    );
    assert.ok(sourcesWith(['webview/tabs/slices/view.ts']).some((source) => simulation.test(source)));
  });

  it('stays within its budgets of bytes: all of it, the side view, and the editor tab with its timeline', () => {
    const scripts = Object.keys(page.outputs).filter((file) => file.endsWith('.js'));
    const firstOf = (entries: readonly string[]): number => bytesOfFiles(page, loadedFiles(page.outputs, ['webview/main.ts', ...entries]));
    const bytes = {
      all: bytesOfFiles(page, scripts),
      side: firstOf(['webview/side-view/page.ts']),
      timeline: firstOf(['webview/editor-tab/page.ts', 'webview/tabs/timeline/view.ts']),
    };
    const budgets = { all: 631_000, side: 215_000, timeline: 345_000 };
    for (const key of ['all', 'side', 'timeline'] as const) assert.ok(bytes[key] <= budgets[key], `${key}: ${bytes[key]} bytes`);
  });

  it('has none of what the toolkit brings for several design systems', () => {
    const sources = Object.values(page.outputs).flatMap(({ inputs }) =>
      Object.entries(inputs).flatMap(([source, { bytesInOutput }]) => (bytesInOutput > 0 ? [source] : [])),
    );
    assert.deepEqual(
      sources.filter((source) => /esm\/(?:di|design-token)\/|design-system\/design-system|applyTheme/.test(source)),
      [],
    );
  });
});
