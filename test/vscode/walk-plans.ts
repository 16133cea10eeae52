import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Frame, Page } from 'playwright-core';
import { walkSteps, type Step, type TierRun } from '../harness/tier-result';
import { figures, openSettings, openTimelineWide, pageFrame, type Figures } from './plan-page';
import { smallConfig } from './small-config';
import { until } from './until';
import { askFromPalette, editorLine, openFile, picturesOf, runFromPalette, saveAsProposed, showEditor, type Workbench } from './workbench';

/** Another cut of the layers, tried and written; the plan before it, pinned and compared with; and all of it undone. */
export async function walkPlans(
  workbench: Workbench,
  workspace: string,
  { screenshotsDir, emit }: Pick<TierRun, 'screenshotsDir' | 'emit'>,
): Promise<void> {
  const file = path.join(workspace, 'plans', 'plans.terapipe.json');
  mkdirSync(path.dirname(file));
  writeFileSync(file, smallConfig);
  const { look, failed } = picturesOf(workbench.page, screenshotsDir);
  await walkSteps(
    planSteps(workbench, (name) => look(`plans-${name}`), file),
    emit,
    () => failed('plans'),
  );
}

function planSteps({ page, pageErrors }: Workbench, look: (name: string) => Promise<void>, file: string): readonly Step[] {
  let before: Figures = { step: '', bubble: '', memory: '' };
  return [
    {
      name: 'a key on the boundary of two stages moves a layer, and the step time and the verdict follow before anything is written',
      act: async () => {
        await runFromPalette(page, 'View: Close All Editors');
        await openFile(page, file);
        const tab = await openTimelineWide(page);
        await tab.locator('.header', { hasText: 'plans' }).waitFor();
        before = await figures(page, 'tab');
        await tab.getByRole('tab', { name: 'Layout' }).click();
        const boundary = tab.getByRole('slider', { name: 'Boundary of stages 3 and 4' });
        await boundary.press('ArrowLeft');
        await boundary.press('ArrowLeft');
        const answer = tab.locator('.stage-layers .what-if-answer');
        await answer.getByText(/Layers of stage 3: 3 to 1, Layers of stage 4: 3 to 5/).waitFor();
        await answer.getByText(/^\+[\d.]+ %$/).waitFor();
        await answer.locator('.what-if-verdict', { hasText: /free|fit/ }).waitFor();
        await look('layers');
        assert.deepEqual(await figures(page, 'tab'), before);
        assert.equal(await page.locator('.tabs-container .tab.dirty').count(), 0);
      },
    },
    {
      name: 'the cut is written when asked to',
      act: async () => {
        const tab = await pageFrame(page, 'tab');
        await tab.locator('.stage-layers').getByRole('button', { name: 'Write to the config' }).click();
        await figures(page, 'tab', (shown) => shown.step !== before.step);
        await tab.locator('.stage-layers .what-if-answer').waitFor({ state: 'hidden' });
        await showEditor(page, path.basename(file));
        await editorLine(page, '"stageLayers": [3,3,3,1,5,3,3,3]').waitFor();
        await showEditor(page, 'Timeline');
      },
    },
    {
      name: 'the Compare tab lists a pinned plan with what the plan now takes more, and compares with it',
      act: async () => {
        const tab = await pageFrame(page, 'tab');
        await openSettings(tab);
        await tab.locator('.history-summary').click();
        await tab.locator('.history-table').getByRole('row', { name: /saved/ }).getByRole('button', { name: 'Pin' }).click();
        await tab.getByRole('button', { name: 'Unpin' }).waitFor();
        await page.keyboard.press('Escape');
        await tab.getByRole('tab', { name: 'Compare' }).click();
        const row = tab.getByRole('table', { name: /^Pinned plans/ }).locator('tbody tr');
        await row.getByText(/^\+[\d.]+ m?s$/).waitFor();
        assert.match(await row.innerText(), new RegExp(before.step.replace('.', '\\.')));
        await look('pinned');
        await row.getByRole('button', { name: 'Compare' }).click();
        const comparison = tab.getByRole('region', { name: 'Comparison' });
        await comparison
          .getByText(/, plan \d+/)
          .first()
          .waitFor();
        await comparison
          .getByText(/\bfaster|\bslower/)
          .first()
          .waitFor();
        await look('compared');
      },
    },
    {
      name: 'the list of what to compare with offers the pinned plan',
      act: async () => {
        await askFromPalette(page, 'TeraPipe: Compare with another config or a run', 'Pinned plans');
        const rows = page.locator('.quick-input-list .monaco-list-row', { hasText: /Plan \d+/ });
        await rows.first().waitFor();
        await page.keyboard.press('Escape');
      },
    },
    {
      name: 'undo divides the layers as before',
      act: async () => {
        const tab = await pageFrame(page, 'tab');
        await openSettings(tab);
        await tab.getByRole('button', { name: 'Undo' }).click();
        await figures(page, 'tab', (shown) => shown.step === before.step && shown.memory === before.memory);
        await showEditor(page, path.basename(file));
        await editorLine(page, '"data": 1 }').waitFor();
        assert.deepEqual(pageErrors, []);
        await showEditor(page, 'Timeline');
      },
    },
    ...readingSteps(page, look, path.dirname(file)),
  ];
}

/** What a plan's pictures are asked, and what is taken away of them; the tab is in front. */
function readingSteps(page: Page, look: (name: string) => Promise<void>, folder: string): readonly Step[] {
  const choose = async (tab: Frame, name: string): Promise<void> => {
    await openSettings(tab);
    await tab.locator('.toolbar vscode-dropdown[aria-label="Compare with"]').click();
    await tab.getByRole('option', { name, exact: true }).click();
  };
  const run = async (tab: Frame, item: string): Promise<void> => {
    await tab.getByRole('button', { name: 'Export' }).click();
    await tab.getByText(item, { exact: true }).click();
  };
  return [
    {
      name: 'memory of two plans is shown side by side',
      act: async () => {
        const tab = await pageFrame(page, 'tab');
        await tab.getByRole('tab', { name: 'Memory' }).click();
        await choose(tab, 'GPipe');
        await tab.locator('.memory-chart').nth(1).waitFor();
        await tab.locator('.memory-charts h2', { hasText: 'GPipe' }).waitFor();
        await look('memory');
        await choose(tab, 'Nothing');
        await tab.locator('.memory-chart').nth(1).waitFor({ state: 'detached' });
      },
    },
    {
      name: 'pointing at a time shows what memory is in use then, and a dragged range has its idle time by cause',
      act: async () => {
        const tab = await pageFrame(page, 'tab');
        await tab.getByRole('tab', { name: 'Timeline' }).click();
        const lanes = tab.locator('.lanes-overlay').first();
        const box = await until('the lanes', async () => (await lanes.boundingBox()) ?? undefined);
        await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
        await tab.locator('.lane-readout', { hasText: /^Stage \d+ at .*GiB/ }).waitFor();
        await page.mouse.move(box.x + 120, box.y + 40);
        await page.mouse.down();
        await page.mouse.move(box.x + box.width / 2, box.y + box.height - 10, { steps: 4 });
        await page.mouse.up();
        const sums = tab.locator('.inspector');
        await sums.getByText('Selected range').waitFor();
        await sums
          .getByText(/^Idle: (warm-up|waits for|drain)/)
          .first()
          .waitFor();
        await sums.getByText(/^Most memory, stage \d+$/).waitFor();
        await look('range');
        await tab.locator('.lanes-region:visible').press('Escape');
        await sums.getByText('Selected range').waitFor({ state: 'detached' });
      },
    },
    {
      name: 'the memory lane shows the parts of a time; a click selects what runs then, which Memory shows next to the peak',
      act: async () => {
        const tab = await pageFrame(page, 'tab');
        const lane = tab.locator('.memory-lane-curve');
        const box = await until('the memory lane', async () => (await lane.boundingBox()) ?? undefined);
        await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
        const readout = tab.locator('.lane-readout');
        await readout.locator('.readout-part', { hasText: /^Weights\s*[\d.]+ [GM]iB$/ }).waitFor();
        await readout.locator('.readout-part', { hasText: /^Activations/ }).waitFor();
        await look('memory-lane');
        await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
        await tab.locator('.inspector-selection dt', { hasText: 'Micro-batch' }).waitFor();
        const first = await until('a time', async () => /at (.*) ·/.exec(await readout.innerText())?.[1]);
        await page.keyboard.press('ArrowRight');
        await until('the next operation', async () => {
          const now = /at (.*) ·/.exec(await readout.innerText())?.[1];
          return now !== undefined && now !== first ? true : undefined;
        });
        await tab.getByRole('tab', { name: 'Memory' }).click();
        await tab.locator('.memory-detail .then').first().waitFor();
        await tab.getByRole('button', { name: 'Show it in the timeline' }).click();
        await tab.getByRole('tab', { name: 'Timeline', selected: true }).waitFor();
        await tab.locator('.lanes-region:visible').press('Escape');
      },
    },
    {
      name: 'a table is copied with all its rows, and the report is saved with the whole step drawn',
      act: async () => {
        const tab = await pageFrame(page, 'tab');
        await tab.evaluate(`Object.defineProperty(navigator, 'clipboard', {
          configurable: true,
          value: { writeText: async (text) => void (globalThis.copied = text) },
        })`);
        await tab.getByRole('tab', { name: 'Memory' }).click();
        await run(tab, 'Copy tables as Markdown');
        await tab.getByRole('status').getByText('Copied').waitFor();
        assert.match(await tab.evaluate<string>('globalThis.copied'), /^\| Stage \|[^]*\n\| 7 \|/);
        await run(tab, 'Report as HTML');
        const report = await saveAsProposed(page, folder, '.html');
        assert.match(report, /<svg[^]*var\(--optimizer\)/);
      },
    },
  ];
}
