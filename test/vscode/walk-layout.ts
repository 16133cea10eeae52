import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { walkSteps, type Step, type TierRun } from '../harness/tier-result';
import { pageFrame } from './plan-page';
import { until } from './until';
import { wideScript } from './wide-script';
import { askFromPalette, openFile, pickRow, picturesOf, runFromPalette, save, showEditor, undoUntil, type Workbench } from './workbench';

/**
 * From a launched layout to the best, in a workspace that gets the script of a run: see it, compare, look at the change, apply it, save it,
 * find nothing wrong any more.
 */
export async function walkLayout(
  workbench: Workbench,
  workspace: string,
  { screenshotsDir, emit }: Pick<TierRun, 'screenshotsDir' | 'emit'>,
): Promise<void> {
  // In a folder of its own: a config.json next to it would be of the same model.
  const script = path.join(workspace, 'launched', 'train.sh');
  mkdirSync(path.dirname(script));
  writeFileSync(script, wideScript);
  const { look, failed } = picturesOf(workbench.page, screenshotsDir);
  const steps = layoutSteps(
    workbench,
    (name) => look(`layout-${name}`),
    () => readFileSync(script, 'utf8'),
  );
  await walkSteps(steps, emit, () => failed('layout'));
}

function layoutSteps(
  { page, cspViolations, pageErrors }: Workbench,
  look: (name: string) => Promise<void>,
  onDisk: () => string,
): readonly Step[] {
  const lens = (title: RegExp) => page.locator('.codelens-decoration a', { hasText: title }).first();
  const squiggle = page.locator('.monaco-editor .squiggly-warning').first();
  return [
    {
      name: 'a lens compares the run as launched with the best, and the value that costs most is marked',
      act: async () => {
        await runFromPalette(page, 'View: Close All Editors');
        await openFile(page, 'train.sh');
        await lens(/ \/ step · best [\d.]+ m?s$/).waitFor();
        await squiggle.waitFor();
        const lenses = await page.locator('.codelens-decoration').first().boundingBox();
        assert.ok(lenses !== null && lenses.width < 700, `the lenses take ${lenses?.width} px`);
        await look('launched');
      },
    },
    {
      name: 'a click on the lens opens the layouts of the run',
      act: async () => {
        await lens(/^Show best layout$/).click();
        const tab = await pageFrame(page, 'tab');
        await tab.getByRole('tab', { name: 'Layout' }).waitFor();
        await tab.getByRole('tabpanel', { name: 'Layout' }).waitFor();
        await tab
          .getByRole('tabpanel', { name: 'Layout' })
          .getByText(/TP1 PP2 DP8/)
          .first()
          .waitFor();
        await look('compared');
      },
    },
    {
      name: 'under the layouts every GPU shows what it holds, its peers and how much of the links its groups take',
      act: async () => {
        const view = (await pageFrame(page, 'tab')).locator('.rank-view');
        await view.scrollIntoViewIfNeeded();
        await until('16 GPUs', async () => (await view.locator('.rank-cell').count()) === 16 || undefined);
        await view.getByRole('group', { name: 'Groups' }).getByRole('button', { name: 'Tensor' }).click();
        await view.locator('[data-rank="9"]').click();
        const detail = view.locator('.rank-detail');
        await detail.getByText('Rank 9: node 1, GPU 1').waitFor();
        assert.match((await detail.innerText()).replace(/\s+/g, ' '), /TP 9 ranks 0–15, in the node and over the network/);
        assert.equal(await view.locator('.rank-peer').count(), 15);
        // Tensor parallelism across nodes: the network carries most, drawn in the darkest class.
        await view.locator('.rank-links tbody tr', { hasText: /^TP 16.*over the network.*%/ }).waitFor();
        await view.locator('.rank-grid tbody .rank-load-4').first().waitFor();
        await look('ranks');
      },
    },
    {
      name: 'the run as launched is drawn above the best on one time scale',
      act: async () => {
        await showEditor(page, 'train.sh');
        await askFromPalette(page, 'TeraPipe: Compare with another config or a run', 'Launched layout compared with the best');
        await pickRow(page, 'Launched layout compared with the best');
        const tab = await pageFrame(page, 'tab');
        const comparison = tab.getByRole('region', { name: 'Comparison' });
        await comparison.getByText(/^B is [\d.]+x faster \([\d.]+ s compared with [\d.]+ s per step\)/).waitFor();
        await comparison.getByText('as launched', { exact: true }).waitFor();
        await until(
          'two timelines',
          async () => (await comparison.locator('.pane .lanes').locator('visible=true').count()) === 2 || undefined,
        );
        await look('against-best');
      },
    },
    {
      name: 'the best is shown as a change of the file, and nothing is written',
      act: async () => {
        await showEditor(page, 'train.sh');
        await runFromPalette(page, 'TeraPipe: Apply best layout');
        await page.locator('.monaco-diff-editor .line-insert').first().waitFor();
        await look('diff');
        assert.equal(onDisk(), wideScript);
      },
    },
    {
      name: 'applying it changes the file, undo takes that back, redo brings it again',
      act: async () => {
        await page.locator('.editor-actions .action-label[aria-label^="Apply this layout"]').click();
        await page.locator('.monaco-diff-editor').waitFor({ state: 'detached' });
        await page.locator('.view-line', { hasText: 'TP=1 # too wide' }).waitFor();
        await page.locator('.monaco-editor .view-line').first().click();
        await undoUntil(page, 'TP=16 # too wide');
        await page.keyboard.press('Control+Y');
        await page.locator('.view-line', { hasText: 'TP=1 # too wide' }).waitFor();
        assert.equal(onDisk(), wideScript);
      },
    },
    {
      name: 'saved, it is as good as the best and nothing is marked',
      act: async () => {
        await save(page, () => /^TP=1 # too wide$/m.test(onDisk()));
        await lens(/ \/ step · best layout$/).waitFor();
        await squiggle.waitFor({ state: 'detached' });
        await look('applied');
        assert.match(onDisk(), /^# A Llama of 7B on two nodes\.$/m);
      },
    },
    {
      name: 'no page violated its content security policy or threw',
      act: () => {
        assert.deepEqual(cspViolations, []);
        assert.deepEqual(pageErrors, []);
        return Promise.resolve();
      },
    },
  ];
}
