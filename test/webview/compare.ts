import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { column } from '../../src/core/format';
import type { Plan } from '../../src/core/planner/plan';
import { scheduleDescriptions } from '../../src/core/schedules/descriptions';
import { neededFor } from '../../src/core/schedules/runtimes';
import type { OpenOptions } from './browser';
import { until, type Case } from './cases';
import { planOf, stateOf } from './fixtures';
import { toText } from '../unit/sentence-text';

const wide: OpenOptions = { kind: 'tab', width: 1440, height: 900, savedState: { tab: 'compare', compareAll: true } };
let known: Plan | null = null;

/** Fourteen candidates of a 7B model on eight GPUs, one of each schedule that can run there. */
export const manySchedules = (): Plan =>
  (known ??= planOf({
    title: 'llama-7b',
    gpu: 'A100-80GB',
    stages: 8,
    layers: 32,
    hidden: 4096,
    tensor: 1,
    nodes: 1,
    training: { globalBatch: 32, precision: 'bf16' },
  }));
const state = (): ReturnType<typeof stateOf> => stateOf('tab', manySchedules());

const idsShown = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`[...document.querySelectorAll('.compare-table tbody tr')].map((row) => row.dataset.candidate)`);

/** The text of a column, in the candidates' order on the page. */
async function valuesShown(page: Page, of: (plan: Plan['candidates'][number]) => number): Promise<number[]> {
  const ids = await idsShown(page);
  return ids.map((id) => of(manySchedules().candidates.find((candidate) => candidate.id === id)!));
}

const isAscending = (values: readonly number[]): boolean => values.every((value, index) => index === 0 || value >= values[index - 1]!);

/** The compare tab with every schedule that can run. */
export const compareCases: readonly Case[] = [
  {
    name: 'compare: lists what the runtime runs and what was chosen, the other ways when asked for',
    options: { ...wide, savedState: { tab: 'compare' } },
    state,
    steps: async ({ page }) => {
      const plan = manySchedules();
      const visible = async (): Promise<string[]> =>
        page.evaluate<string[]>(`[...document.querySelectorAll('.compare-table tbody tr')]
          .filter((row) => row.checkVisibility()).map((row) => row.dataset.candidate)`);
      const runs = plan.candidates.filter(({ schedule }) => neededFor(schedule, plan.request) === null).map(({ id }) => id);
      const expected = plan.candidates.map(({ id }) => id).filter((id) => id === plan.chosen || runs.includes(id));
      assert.ok(expected.length >= 2 && expected.length < plan.candidates.length);
      assert.deepEqual(await visible(), expected);
      await page.getByRole('button', { name: `All ${plan.candidates.length} ways to run this step` }).click();
      assert.equal((await visible()).length, plan.candidates.length);
      await page.getByRole('button', { name: 'Fewer ways' }).click();
      assert.deepEqual(await visible(), expected);
      return undefined;
    },
  },
  {
    name: 'compare: as the planner has them, and every numeric column sorts by click and by key, both ways, with aria-sort',
    options: wide,
    state,
    steps: async ({ page }) => {
      const { candidates } = manySchedules();
      assert.ok(candidates.length >= 14);
      assert.deepEqual(
        await idsShown(page),
        candidates.map(({ id }) => id),
      );
      await page.getByText('Speed-up is over 1F1B').waitFor();
      const sorted = (name: string): Promise<string | null> => page.getByRole('columnheader', { name }).getAttribute('aria-sort');
      assert.equal(await sorted('Step'), null);
      await page.getByRole('button', { name: 'Step' }).click();
      assert.ok(isAscending(await valuesShown(page, ({ iterationMs }) => iterationMs)));
      assert.equal(await sorted('Step'), 'ascending');
      await page.getByRole('button', { name: 'Bubble', exact: true }).click();
      assert.ok(isAscending(await valuesShown(page, ({ bubbleRate }) => bubbleRate)));
      assert.deepEqual([await sorted('Step'), await sorted('Bubble')], [null, 'ascending']);
      await page.keyboard.press('Enter');
      assert.ok(isAscending((await valuesShown(page, ({ bubbleRate }) => bubbleRate)).reverse()));
      assert.equal(await sorted('Bubble'), 'descending');
      await page.getByRole('button', { name: 'Peak memory' }).press('Space');
      const peak = ({ memory }: Plan['candidates'][number]): number => Math.max(...memory.stages.map(({ peakBytes }) => peakBytes));
      assert.ok(isAscending(await valuesShown(page, peak)));
      await page.getByRole('button', { name: 'Speed-up' }).click();
      assert.equal(await sorted('Speed-up'), 'descending');
      assert.ok(isAscending(await valuesShown(page, ({ iterationMs }) => iterationMs)));
      return undefined;
    },
  },
  {
    name: 'compare: candidates that are alike keep their order whichever way round',
    options: wide,
    state,
    steps: async ({ page }) => {
      const { candidates } = manySchedules();
      const alike = candidates.filter(({ iterationMs }) => candidates.filter((other) => other.iterationMs === iterationMs).length > 1);
      const expected = alike.map(({ id }) => id as string);
      assert.ok(expected.length >= 2, 'the fixture has no candidates that take equally long');
      const pairs = (ids: readonly string[]): string[] => ids.filter((id) => expected.includes(id));
      const groups = (ids: readonly string[]): string[] =>
        pairs(ids).sort((a, b) => candidates.find(({ id }) => id === a)!.iterationMs - candidates.find(({ id }) => id === b)!.iterationMs);
      const before = groups(await idsShown(page));
      await page.getByRole('button', { name: 'Step' }).click();
      assert.deepEqual(groups(await idsShown(page)), before);
      return undefined;
    },
  },
  {
    name: 'compare: the order is kept, also over a reload',
    options: { ...wide, savedState: { tab: 'compare', compareOrder: { by: 'memory', descending: true } } },
    state,
    steps: async ({ page }) => {
      assert.equal(await page.getByRole('columnheader', { name: 'Peak memory' }).getAttribute('aria-sort'), 'descending');
      await page.getByRole('button', { name: 'Bubble', exact: true }).click();
      await until('the order to be saved', async () => {
        const saved = await page.evaluate<{ settings: { compareOrder: { by: string } } }>('harness.state()');
        return saved.settings.compareOrder.by === 'bubble';
      });
      return undefined;
    },
  },
  {
    name: 'compare: shows what fits, what was chosen and what needs another runtime',
    options: wide,
    state,
    steps: async ({ page }) => {
      const row = (name: string) =>
        page.locator('.compare-table tbody tr').filter({ has: page.getByRole('button', { name: toText(name), exact: true }) });
      const plan = manySchedules();
      for (const { id, name, fits } of plan.candidates) {
        const text = await page.locator(`tr[data-candidate="${id}"]`).innerText();
        assert.equal(/\bfits\b/.test(text), fits, `${toText(name)}: ${text}`);
        assert.equal(text.includes('chosen'), id === plan.chosen, `${toText(name)}: ${text}`);
      }
      await row('ZBVZeroBubble').getByText('another runtime').waitFor();
      assert.equal(await row('1F1B').getByText('another runtime').count(), 0);
      return undefined;
    },
  },
  {
    name: 'compare: the runtime of the files is not another one for its own schedules',
    options: wide,
    state: () => {
      const shown = state();
      const plan = shown.plan!;
      const training = { ...plan.request.training, runtime: 'torchtitan' as const };
      return { ...shown, plan: { ...plan, request: { ...plan.request, training } } };
    },
    steps: async ({ page }) => {
      const inRow = (id: string) => page.locator(`tr[data-candidate="${id}"]`).getByText('another runtime');
      await page.locator('tr[data-candidate="ZB-H1"]').getByText('another runtime').waitFor();
      assert.equal(await inRow('ZBVZeroBubble').count(), 0);
      return undefined;
    },
  },
  {
    name: 'compare: a click shows the timeline of a schedule with the memory of its worst stage under it',
    options: wide,
    state,
    steps: async ({ page }) => {
      for (const id of ['ZBVZeroBubble', 'DualPipeV', 'InterleavedZeroBubble', 'ZeroBubble', 'Seq1F1B', 'gpipe'] as const) {
        const { name } = manySchedules().candidates.find((candidate) => candidate.id === id)!;
        await page.getByRole('button', { name: toText(name), exact: true }).click();
        await page.getByRole('tabpanel', { name: 'Timeline' }).waitFor();
        await page
          .locator('.setting', { hasText: id === manySchedules().chosen ? toText(name) : `${toText(name)}, not the chosen plan` })
          .waitFor();
        assert.match(await page.locator('.lane-title').innerText(), /^Memory of stage \d+ · peak [\d.]+ GiB at [\d.]+ m?s/);
        await page.getByRole('tab', { name: 'Compare' }).click();
        assert.equal(await page.locator('tr.marked').getAttribute('data-candidate'), id);
      }
      await page.getByRole('button', { name: 'ZBVZeroBubble' }).click();
      await page.getByRole('tab', { name: 'Compare' }).click();
      await page
        .locator('p.hint', { hasText: /Megatron-LM does not run ZBVZeroBubble; TorchTitan or/ })
        .first()
        .waitFor();
      return undefined;
    },
  },
  {
    name: 'compare: the inspector shares out idle time by cause, of all stages and of one',
    options: { ...wide, savedState: { tab: 'timeline', candidate: 'Interleaved1F1B' } },
    state,
    steps: async ({ page }) => {
      const candidate = manySchedules().candidates.find(({ id }) => id === 'Interleaved1F1B')!;
      const details = page.locator('.inspector-selection');
      assert.match(await details.innerText(), /Idle time, mean of all stages[\s\S]*Warm-up[\s\S]*Waits for data[\s\S]*Drain[\s\S]*Idle/);
      const idleMs = Object.values(candidate.idle).reduce((sum, times) => sum + times.reduce((part, ms) => part + ms, 0), 0) / 8;
      await details.locator('.pair-sum').getByText(column.duration(idleMs)).waitFor();
      const share = await page.evaluate<number>(
        `[...document.querySelectorAll('.idle-part')].reduce((sum, part) => sum + Number.parseFloat(part.style.width), 0)`,
      );
      assert.ok(Math.abs(share - 100) < 0.5, `the bar adds up to ${share} %`);
      await page
        .locator('.lanes-overlay')
        .first()
        .click({ position: { x: 30, y: 40 } });
      await details.getByText('Idle time of stage 0').waitFor();
      return undefined;
    },
  },
  {
    name: 'compare: the schedule menu lists what can run here, in the words of the papers, and nothing else',
    options: { ...wide, savedState: { tries: 'first' } },
    state,
    steps: async ({ page }) => {
      const { candidates, notCompared } = manySchedules();
      const can = new Set<string>([...candidates.map(({ schedule }) => schedule), ...notCompared]);
      await page.getByRole('combobox', { name: 'Schedule' }).click();
      const names = await page.locator('vscode-dropdown[aria-label="Schedule"] vscode-option').allInnerTexts();
      assert.deepEqual(new Set(names.slice(1)), can);
      const title = await page.getByRole('option', { name: 'DualPipeV' }).getAttribute('title');
      assert.equal(title, toText(scheduleDescriptions.DualPipeV.text));
      return undefined;
    },
  },
  {
    name: 'compare: asks the host once for a timeline it kept back',
    options: { ...wide, savedState: { tab: 'timeline', compareAll: true } },
    state: () => {
      const candidates = manySchedules().candidates.map((each) => (each.id === 'gpipe' ? { ...each, timeline: null } : each));
      return stateOf('tab', { ...manySchedules(), candidates }, { withheld: [{ id: 'gpipe', operations: 500_000 }] });
    },
    steps: async ({ page, messages, send }) => {
      await page.getByRole('tab', { name: 'Compare' }).click();
      await page.getByRole('button', { name: 'GPipe', exact: true }).click();
      await page.getByText('Fetching its operations').waitFor();
      await page.keyboard.press('Escape');
      const asked = (await messages()).filter(({ type }) => type === 'draw');
      assert.deepEqual(asked, [{ type: 'draw', candidates: ['gpipe'] }]);
      await send({ type: 'state', state: state() });
      await page.locator('.lane-title').waitFor();
      return undefined;
    },
  },
  ...[420, 800].map((width): Case => ({
    name: `compare: nothing sticks out of a page ${width} px wide`,
    options: { ...wide, width },
    state,
    steps: async ({ page }) => {
      const stickingOut = await page.evaluate<string[]>(`[...document.querySelectorAll('.page-tab *')]
          .filter((element) => element.getClientRects().length > 0 && element.getBoundingClientRect().right > innerWidth + 1)
          .filter((element) => element.closest('.visually-hidden, .menu') === null)
          // What lies in a row that scrolls sticks out of nothing while the row does not.
          .filter((element) => !/auto|scroll/.test(getComputedStyle(element.parentElement.closest('.toolbar') ?? document.body).overflowX))
          .map((element) => element.className.toString() + ' ' + element.textContent.slice(0, 30))`);
      assert.deepEqual(stickingOut, []);
      return undefined;
    },
  })),
];
