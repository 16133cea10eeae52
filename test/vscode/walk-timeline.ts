import assert from 'node:assert/strict';
import { copyFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Frame, Locator, Page } from 'playwright-core';
import { root } from '../harness/setup.mjs';
import { walkSteps, type Step, type TierRun } from '../harness/tier-result';
import { paintedIn, pixelsOf, steepestIn, type Box } from './canvas';
import { figures, focusOn, openTimelineWide, pressUntil, timelineFrame } from './plan-page';
import { until } from './until';
import { chooseTheme, openFile, picturesOf, runFromPalette, type Workbench } from './workbench';

const launcher = path.join(root, 'test/fixtures/launchers/torchtitan-2025.toml');

/** Some 4,000 operations on each of four stages: below a pixel each. */
const manyOperations = `{
  "model": { "layers": 12, "hidden": 768, "heads": 12, "vocab": 50257 },
  "cluster": { "gpu": "A100-80GB", "nodes": 1, "gpusPerNode": 4 },
  "training": { "sequenceLength": 1024, "globalBatch": 2000, "microBatch": 1 },
  "layout": { "tensor": 1, "pipeline": 4, "data": 1 },
  "schedule": "1F1B"
}
`;

/** CSS px left, right and above the lanes. */
const [leftPx, rightPx, axisPx] = [56, 80, 24];

/** What the timeline draws of a step: two chunks a stage and eight replicas, then more operations than pixels. */
export async function walkTimeline(
  workbench: Workbench,
  workspace: string,
  { screenshotsDir, emit }: Pick<TierRun, 'screenshotsDir' | 'emit'>,
): Promise<void> {
  const chunked = path.join(workspace, 'chunked.toml');
  copyFileSync(launcher, chunked);
  const many = path.join(workspace, 'many.terapipe.json');
  writeFileSync(many, manyOperations);
  const { look, failed } = picturesOf(workbench.page, screenshotsDir);
  const lookAt = (name: string) => look(`timeline-${name}`);
  await walkSteps([...chunkSteps(workbench, chunked, lookAt), ...manySteps(workbench, many, lookAt)], emit, () => failed('timeline'));
}

async function openTimelineOf(page: Page, file: string): Promise<Frame> {
  await runFromPalette(page, 'View: Close All Editors');
  await openFile(page, file);
  await page.locator('.codelens-decoration a', { hasText: '/ step' }).waitFor();
  return openTimelineWide(page);
}

async function selectNothing(page: Page, tab: Frame): Promise<void> {
  await pressUntil(page, 'Escape', () => tab.locator('.inspector-selection h2', { hasText: 'per step' }).waitFor({ timeout: 3000 }));
}

/** The text of the tooltip at a place of the lanes, CSS px from their left and top; empty where there is none. */
async function tooltipAt(page: Page, tab: Frame, x: number, y: number): Promise<string> {
  const lanes = await tab.locator('.lanes-overlay').first().boundingBox();
  if (lanes === null) throw new Error('no lanes');
  for (const fromThere of [-1, 0]) await page.mouse.move(lanes.x + x, lanes.y + y + fromThere);
  return (await tab.locator('.pane .tooltip:visible').allInnerTexts()).join('\n');
}

/** Waits until the tooltip at a place of the lanes reads as wanted, and returns its text. */
async function tooltipLike(page: Page, tab: Frame, { x, y }: Pick<Box, 'x' | 'y'>, wanted: RegExp): Promise<string> {
  return until(`a tooltip like ${String(wanted)}`, async () => {
    const text = await tooltipAt(page, tab, x, y);
    return wanted.test(text) ? text : undefined;
  });
}

function chunkSteps({ page }: Workbench, file: string, look: (name: string) => Promise<void>): readonly Step[] {
  const legend = (tab: Frame, name: string): Locator => tab.locator('.timeline-legend').getByRole('button', { name, exact: true });
  return [
    {
      name: 'the whole step is drawn: gradient exchange and optimizer follow the pipeline, and the axis ends with them',
      act: async () => {
        await chooseTheme(page, 'Dark Modern', 'vs-dark');
        const tab = await openTimelineOf(page, file);
        const { step } = await figures(page, 'tab');
        const width = (await tab.locator('.lanes-overlay').first().boundingBox())?.width ?? 0;
        const row = axisPx + 8;
        const tooltip = await tooltipLike(page, tab, { x: width - rightPx - 1, y: row }, /^Optimizer\s/);
        const [, long = NaN, from = NaN] = /([\d.]+) ms, from ([\d.]+) s/.exec(tooltip)?.map(Number) ?? [];
        assert.ok(Math.abs(from + long / 1000 - parseFloat(step)) < 0.01, `${tooltip} in a step of ${step}`);
        let x = width - rightPx - 1;
        while ((await tooltipAt(page, tab, x, row)).startsWith('Optimizer')) x -= 1;
        await tooltipLike(page, tab, { x, y: row }, /^Gradient exchange\s+Stage 0 of 4/);
        await look('end');
      },
    },
    {
      name: 'the legend hides what it names, passes say their chunk, and nothing is called a slice where none is cut',
      act: async () => {
        const tab = await timelineFrame(page);
        const first = { x: leftPx + 4, y: axisPx + 8, width: 1, height: 1 };
        await tooltipLike(page, tab, first, /^Forward · micro-batch 0 · chunk 0\s/);
        const color = async () => (await pixelsOf(tab, '.lanes', first)).data.join();
        const shown = await color();
        for (const name of ['Forward', 'Chunks 0 to 3']) {
          const button = legend(tab, name);
          await button.click();
          await tab.locator('.timeline-legend [aria-pressed="false"]', { hasText: name }).waitFor();
          await until(`no ${name}`, async () => (await color()) !== shown || undefined);
          await look(`without-${name.toLowerCase().replaceAll(' ', '-')}`);
          await button.click();
          await until(`${name} again`, async () => (await color()) === shown || undefined);
        }
        for (const name of ['Backward', 'Chunks 4 to 7', 'Gradient exchange', 'Optimizer', 'micro-batch', 'chunk'])
          await legend(tab, name).waitFor();
        assert.equal(await legend(tab, 'slice').count(), 0);
        await page.mouse.click(...(await placeOf(tab, first)));
        await tab.locator('.inspector-selection h2', { hasText: 'Forward' }).waitFor();
        assert.doesNotMatch(await tab.locator('body').innerText(), /slice\s+0/i);
        await selectNothing(page, tab);
      },
    },
    {
      name: 'find counts what matches, goes to the next and the previous, and shows when there is none',
      act: async () => {
        const tab = await timelineFrame(page);
        const [answer, selected] = [tab.locator('.find-answer'), tab.locator('.inspector-selection')];
        const showsAnswer = (wanted: RegExp) => answer.filter({ hasText: wanted }).waitFor();
        await tab.locator('.lanes-region').focus();
        await pressUntil(page, '/', () => focusOn(tab, '.find-bar vscode-text-field', 3000));
        await page.keyboard.type('stage 3 mb 1');
        // A forward and a backward of each of two chunks.
        await showsAnswer(/^4 found$/);
        await page.keyboard.press('Enter');
        await showsAnswer(/^1 of 4$/);
        await selected.filter({ hasText: /^Forward[\s\S]*Stage\s*3 of 4[\s\S]*Micro-batch\s*1/ }).waitFor();
        const first = await selected.innerText();
        const showsFirst = (wanted: boolean) =>
          until('the selection', async () => ((await selected.innerText()) === first) === wanted || undefined);
        await tab.getByRole('button', { name: 'Next match (Enter)' }).click();
        await showsAnswer(/^2 of 4$/);
        await showsFirst(false);
        await tab.getByRole('button', { name: 'Previous match (Shift+Enter)' }).click();
        await showsAnswer(/^1 of 4$/);
        await showsFirst(true);
        await tab.locator('.find-bar input').fill('stage 4711');
        await showsAnswer(/^No match$/);
        await tab.locator('.find-bar vscode-button[disabled]').nth(1).waitFor();
        await look('no-match');
        await tab.getByRole('button', { name: 'Close find' }).click();
        await focusOn(tab, '.lanes-region');
      },
    },
    {
      name: 'arrows lead from what a selected pass waited for, and to what waits for it, over the rows of other stages',
      act: async () => {
        const tab = await timelineFrame(page);
        await page.mouse.move(2, 2);
        const lanes = await tab.locator('.lanes-overlay').first().boundingBox();
        const height = ((lanes?.height ?? 0) - axisPx - 8) / 4;
        // The passes that were found are on the last stage: above it only an arrow is drawn, and it starts or ends one row up.
        const above = { x: leftPx, y: axisPx + 2.5 * height, width: (lanes?.width ?? 0) - leftPx - rightPx, height: height / 4 };
        await tab.locator('.inspector-selection', { hasText: /^Forward[\s\S]*Stage\s*3 of 4/ }).waitFor();
        await untilPainted(tab, '.lanes-overlay', above, true);
        await look('flows');
        await selectNothing(page, tab);
        await untilPainted(tab, '.lanes-overlay', above, false);
      },
    },
  ];
}

async function untilPainted(tab: Frame, selector: string, box: Box, wanted: boolean): Promise<void> {
  await until(
    `${wanted ? '' : 'no '}paint on ${selector}`,
    async () => paintedIn(await pixelsOf(tab, selector, box)) > 0 === wanted || undefined,
  );
}

async function placeOf(tab: Frame, { x, y }: Box): Promise<[number, number]> {
  const lanes = await tab.locator('.lanes-overlay').first().boundingBox();
  if (lanes === null) throw new Error('no lanes');
  return [lanes.x + x, lanes.y + y];
}

function manySteps({ page }: Workbench, file: string, look: (name: string) => Promise<void>): readonly Step[] {
  return [
    {
      name: 'passes below a pixel are one even colour, and passes of their own once there is room',
      act: async () => {
        const tab = await openTimelineOf(page, file);
        await page.mouse.move(2, 2);
        await tab.locator('.lanes-region').focus();
        const lanes = await tab.locator('.lanes-overlay').first().boundingBox();
        const row = { x: leftPx + 100, y: axisPx + 12, width: (lanes?.width ?? 0) / 3, height: 1 };
        const steepest = async () => steepestIn(await pixelsOf(tab, '.lanes', row));
        const fitted = await steepest();
        assert.ok(fitted < 24, `neighbouring pixels differ by ${fitted}`);
        await look('many');
        const differing = async (wanted: (by: number) => boolean) => {
          await until('passes that differ as wanted', async () => wanted(await steepest()) || undefined, 3000);
        };
        for (let press = 0; press < 10; press += 1) await page.keyboard.press('w');
        await pressUntil(page, 'w', () => differing((by) => by > 60));
        await pressUntil(page, '0', () => differing((by) => by === fitted));
      },
    },
    {
      name: 'the critical path of a whole step is one bright line over lanes that step back',
      act: async () => {
        const tab = await timelineFrame(page);
        const lanes = await tab.locator('.lanes-overlay').first().boundingBox();
        const column = { x: (lanes?.width ?? 0) / 2, y: axisPx + 1, width: 1, height: (lanes?.height ?? 0) - axisPx - 10 };
        /** The darkest of red, green and blue from the first row to the last. */
        const whiteness = async () => {
          const { data } = await pixelsOf(tab, '.lanes', column);
          return Array.from({ length: data.length / 4 }, (_, at) => Math.min(...data.slice(4 * at, 4 * at + 3)));
        };
        const plain = await whiteness();
        assert.ok(Math.max(...plain) < 150, `as white as ${Math.max(...plain)} without a line`);
        const outline = tab.locator('[title="Outline the critical path"]');
        await outline.click();
        const lined = await until('a white line', async () => {
          const now = await whiteness();
          return Math.max(...now) > 180 ? now : undefined;
        });
        const at = lined.indexOf(Math.max(...lined)) / lined.length;
        assert.ok(at > 3 / 4, `the line is ${at} of the way down, not on the slowest stage, the last`);
        const middle = Math.floor(plain.length / 8);
        assert.ok((lined[middle] ?? 255) < (plain[middle] ?? 0), 'the lanes do not step back');
        await look('critical-path');
        await outline.click();
        await until('no line', async () => Math.max(...(await whiteness())) < 150 || undefined);
      },
    },
  ];
}
