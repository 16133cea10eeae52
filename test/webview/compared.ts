import { toText } from '../unit/sentence-text';
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { formatDuration } from '../../src/core/format';
import { fullAnswer, type PageComparison } from '../../src/features/compare/protocol';
import type { PageMessage } from '../../src/protocol/page';
import { savedState, type OpenOptions, type OpenPage } from './browser';
import { drawnColors, show, turnWheel, until, type Case } from './cases';
import { comparedState, comparisonOf, launched, plansAnswerOf, plansCompared, timesCompared, traceCompared } from './comparisons';
import { sentence } from '../../src/core/sentence';

const wide: OpenOptions = { kind: 'tab', width: 1440, height: 1400, reducedMotion: true, savedState: { tab: 'compare' } };
const state = (comparison: () => PageComparison | null) => () => comparedState(comparison());

interface SavedSettings {
  readonly viewport: { readonly startMs: number; readonly endMs: number } | null;
  readonly pass: { readonly side: string; readonly chunk: number; readonly unit: number } | null;
  readonly stage: number | null;
}

async function settings(page: Page): Promise<SavedSettings> {
  return (await savedState<{ fileSettings: { comparisonSettings: SavedSettings } }>(page)).fileSettings.comparisonSettings;
}

const section = (page: Page): ReturnType<Page['locator']> => page.getByRole('region', { name: 'Comparison' });
const lanes = (page: Page): ReturnType<Page['locator']> => page.locator('.compared-lanes');

async function asked({ messages }: OpenPage): Promise<readonly PageMessage[]> {
  return (await messages()).filter(({ type }) => type === 'comparison' || type === 'command' || type === 'reveal');
}

async function rowOf(page: Page, table: string, name: string): Promise<string[]> {
  const row = section(page)
    .getByRole('table', { name: table })
    .getByRole('row', { name: new RegExp(`^${name}`) });
  return (await row.getByRole('cell').allInnerTexts()).map((text) => text.trim());
}

/** The comparison with another plan and with a measured run. */
export const comparedCases: readonly Case[] = [
  {
    name: 'compared: without a comparison there is one button to start one, and the toolbar offers it too',
    options: { ...wide, savedState: { tab: 'compare', tries: 'first' } },
    state: state(() => null),
    steps: async (open) => {
      const { page } = open;
      assert.equal(await section(page).isVisible(), false);
      await page.getByRole('button', { name: 'Compare with…' }).click();
      await page.getByRole('combobox', { name: 'Compare with' }).click();
      await page.getByRole('option', { name: 'Another config or a run…' }).click();
      const command = { type: 'command', command: 'terapipe.compareWith' };
      assert.deepEqual(await asked(open), [command, command]);
      await until('the choice to be nothing again', async () => (await page.getByRole('combobox', { name: 'Compare with' }).inputValue().catch(() => '')) !== 'elsewhere'); // prettier-ignore
      return undefined;
    },
  },
  {
    name: 'compared: two plans say what matters first, what comes out and what was asked for, and turn and close on request',
    options: wide,
    state: state(() => comparisonOf(plansCompared())),
    steps: async (open) => {
      const { page } = open;
      const answer = plansCompared();
      assert.ok(answer.reported.kind === 'plan');
      const { a, b } = answer.reported;
      assert.equal(await section(page).locator('.compared-sentences li').first().innerText(), toText(answer.sentences[0]));
      const [left, right] = await rowOf(page, 'What comes out', 'Step');
      assert.deepEqual([left, right], [formatDuration(a.iterationMs), formatDuration(b.iterationMs)]);
      assert.deepEqual(await rowOf(page, 'Differences in the request', 'training.recompute'), ['none', 'full']);
      assert.deepEqual((await rowOf(page, 'Step time, mean of all stages', 'Recompute'))[0], '0 ms');
      await section(page).getByText('Stages', { exact: true }).click();
      const stages = section(page).getByRole('table', { name: 'Busy time and peak memory of every stage' });
      assert.ok(answer.reported.stages.length > 6);
      assert.equal(await stages.getByRole('row').count(), 1 + 6);
      await section(page).getByRole('button', { name: 'Next page' }).click();
      assert.equal(await stages.getByRole('row').count(), 1 + answer.reported.stages.length - 6);
      await section(page).getByRole('button', { name: 'Swap' }).click();
      await section(page).getByRole('button', { name: 'Close' }).click();
      assert.deepEqual(await asked(open), [
        { type: 'comparison', act: 'swap' },
        { type: 'comparison', act: 'close' },
      ]);
      return undefined;
    },
  },
  {
    name: 'compared: both timelines have one time scale and their stages at one height, and zoom and pan together',
    options: wide,
    state: state(() => comparisonOf(plansCompared())),
    steps: async ({ page }) => {
      const boxes = await Promise.all([0, 1].map(async (nth) => (await page.locator('.compared-lanes .lanes').nth(nth).boundingBox())!));
      assert.equal(boxes[0]!.height, boxes[1]!.height);
      assert.equal(boxes[0]!.width, boxes[1]!.width);
      const other = '.compared-lanes .pane:nth-of-type(2) .lanes';
      await until('the other side is drawn', async () => (await drawnColors({ page } as OpenPage, other)) > 4);
      const longest = Math.max(...[plansCompared().a, plansCompared().b].map(({ timeline }) => timeline!.makespanMs));
      const over = async (nth: number): Promise<void> => page.mouse.move(boxes[nth]!.x + 456, boxes[nth]!.y + 60);
      // Nothing of it is saved before the first change.
      const viewport = async (): Promise<SavedSettings['viewport']> =>
        ((await settings(page)) as SavedSettings | undefined)?.viewport ?? null;
      await over(1);
      const zoomed = (await turnWheel(page, -600, 'Control', viewport))!;
      assert.ok(zoomed.endMs - zoomed.startMs < longest / 2);
      await over(0);
      const panned = (await turnWheel(page, 200, 'Shift', viewport))!;
      assert.ok(panned.startMs > zoomed.startMs);
      assert.ok(Math.abs(panned.endMs - panned.startMs - (zoomed.endMs - zoomed.startMs)) < 1e-6);
      await section(page).getByRole('button', { name: 'Zoom to fit' }).click();
      assert.equal((await settings(page)).viewport, null);
      return undefined;
    },
  },
  {
    name: 'compared: a trace marks where it parts from the plan, and names the straggler',
    options: wide,
    state: state(() => comparisonOf(traceCompared())),
    steps: async ({ page }) => {
      const { reported } = traceCompared();
      assert.ok(reported.kind === 'trace' && reported.firstLate !== null && reported.straggler === 3);
      await section(page).getByText('straggler', { exact: true }).waitFor();
      assert.match((await section(page).locator('tr.marked').innerText()).replace(/\s+/g, ' '), /^3 ?straggler .* 1\.40x$/);
      await section(page).getByRole('button', { name: 'Show where they diverge' }).click();
      const { pass, viewport, stage } = await settings(page);
      assert.deepEqual([pass?.side, pass?.chunk, stage], ['b', reported.firstLate.chunk, reported.firstLate.stage]);
      assert.ok(viewport!.startMs <= reported.firstLate.measuredMs && reported.firstLate.measuredMs <= viewport!.endMs);
      assert.equal(await section(page).getByRole('button', { name: 'Swap' }).isVisible(), false);
      return undefined;
    },
  },
  {
    name: 'compared: everything by keyboard, spoken with both times, and listed in a table',
    options: wide,
    state: state(() => comparisonOf(traceCompared())),
    steps: async ({ page }) => {
      await lanes(page).focus();
      await page.keyboard.press('Home');
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowDown');
      const { pass, stage } = await settings(page);
      assert.deepEqual([pass?.side, stage], ['a', 4]);
      const spoken = await page.locator('.compared-lanes [aria-live]').innerText();
      assert.match(spoken, /on stage 4\. .*Predicted: [\d.]+ ms from .*Measured: [\d.]+ ms from .*Measured begins .* later, takes/s);
      await page.keyboard.press('+');
      await until('the zoomed view', async () => (await settings(page)).viewport !== null);
      await page.keyboard.press('Escape');
      await page.keyboard.press('Escape');
      await until('neither pass nor zoom', async () => {
        const { pass: picked, viewport } = await settings(page);
        return picked === null && viewport === null;
      });
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keys', exact: true }).waitFor();
      await page.keyboard.press('Escape');
      await section(page).getByRole('button', { name: 'Show passes as a table' }).click();
      const table = section(page).getByRole('table', { name: 'Stage 4: 64 passes' });
      const [first, ...cells] = (await table.getByRole('row').nth(1).getByRole('cell').allInnerTexts()).map((text) => text.trim());
      assert.equal(first, 'Forward 0');
      assert.equal(cells.filter((text) => text === '').length, 0, cells.join());
      await table.getByRole('row').nth(2).focus();
      await page.keyboard.press('Enter');
      assert.equal((await settings(page)).pass?.unit, 1);
      return undefined;
    },
  },
  {
    name: 'compared: measured times are shown next to the plan without a timeline of their own',
    options: wide,
    state: state(() => comparisonOf(timesCompared())),
    steps: async ({ page }) => {
      await page.getByText('Measured times have no timeline').waitFor();
      assert.equal(await page.locator('.compared-lanes .pane').locator('visible=true').count(), 1);
      const { reported } = timesCompared();
      assert.ok(reported.kind === 'times' && reported.step !== null);
      assert.equal((await rowOf(page, 'What comes out', 'Step'))[1], formatDuration(reported.step.measuredMs));
      return undefined;
    },
  },
  {
    name: 'compared: reading shows its progress and can be cancelled between two messages, an error keeps the answer and shows how old it is',
    options: wide,
    state: state(() => comparisonOf(null, { running: { fraction: null }, other: { role: 'measured', file: 'runs/trace.json' } })),
    steps: async (open) => {
      const { page, send } = open;
      await page.getByText('Compared with runs/trace.json').waitFor();
      const running = (fraction: number): PageComparison =>
        comparisonOf(null, { running: { fraction }, other: { role: 'measured', file: 'runs/trace.json' } });
      await send({ type: 'update', fields: { comparison: running(0.4) } });
      await until('the fraction', async () => (await page.evaluate(`document.querySelector('.compared-running progress').value`)) === 0.4);
      const cancel = (await section(page).getByRole('button', { name: 'Cancel' }).boundingBox())!;
      await page.mouse.move(cancel.x + 10, cancel.y + 10);
      await page.mouse.down();
      await send({ type: 'update', fields: { comparison: running(0.5) } });
      await page.mouse.up();
      await until('the request', async () => (await asked(open)).length === 1);
      assert.deepEqual(await asked(open), [{ type: 'comparison', act: 'cancel' }]);
      const failure = { code: 'trace-stages', message: sentence`the trace has passes on 3 tracks`, remedy: sentence`compare it with that run`, place: null, placeText: 'runs/trace.json' }; // prettier-ignore
      await send({ type: 'update', fields: { comparison: comparisonOf(null, { error: failure }) } });
      assert.match(await page.getByRole('alert').innerText(), /The trace has passes on 3 tracks\.\s+Compare it with that run\./);
      await section(page).getByRole('button', { name: 'Compare again' }).click();
      await send({ type: 'update', fields: { comparison: comparisonOf(traceCompared(), { error: failure, staleEdits: 2 }) } });
      await section(page).getByText('from 2 edits ago').waitFor();
      await section(page).getByText('is the straggler').waitFor();
      assert.deepEqual((await asked(open)).at(-1), { type: 'comparison', act: 'again' });
      return undefined;
    },
  },
  {
    name: 'compared: an answer is sent once and named by its id after that; an unknown one is none',
    options: wide,
    state: state(() => comparisonOf(plansCompared())),
    steps: async ({ page, send }) => {
      const { id } = fullAnswer(comparisonOf(plansCompared()))!;
      await send({ type: 'update', fields: { comparison: comparisonOf(plansCompared(), { answer: { id, sent: true }, staleEdits: 1 }) } });
      await section(page).getByText('from 1 edit ago').waitFor();
      assert.equal(await lanes(page).isVisible(), true);
      await send(show(comparedState(comparisonOf(plansCompared(), { answer: { id, sent: true } }))));
      assert.equal(await lanes(page).isVisible(), true);
      const same = plansAnswerOf('plans-2', launched(), launched());
      await send({ type: 'update', fields: { comparison: comparisonOf(same) } });
      await section(page).getByText('are the same plan').waitFor();
      await section(page).getByText('both requests are the same').waitFor();
      await send({ type: 'update', fields: { comparison: comparisonOf(same, { answer: { id: 'lost', sent: true } }) } });
      await lanes(page).waitFor({ state: 'hidden' });
      await send({ type: 'update', fields: { comparison: null } });
      await section(page).waitFor({ state: 'hidden' });
      return undefined;
    },
  },
  {
    name: 'compared: at 280 px nothing is wider than the page',
    options: { ...wide, width: 280, height: 1600 },
    state: state(() => comparisonOf(traceCompared())),
    steps: async ({ page }) => {
      await section(page).getByRole('button', { name: 'Show passes as a table' }).click();
      const overflow = await page.evaluate<number>(`(() => { const panel = document.querySelector('.panel-compare'); return panel.scrollWidth - panel.clientWidth; })()`); // prettier-ignore
      assert.ok(overflow <= 0, `${overflow} px too wide`);
      return undefined;
    },
  },
];
