import assert from 'node:assert/strict';
import type { Fix } from '../../src/core/findings';
import { formatCount, formatDuration } from '../../src/core/format';
import { chosenCandidate, type Plan } from '../../src/core/planner/plan';
import { sentence } from '../../src/core/sentence';
import { planFigures, type HistoryState } from '../../src/protocol/what-if';
import type { OpenOptions } from './browser';
import { until, type Case } from './cases';
import { findings, planOf, stateOf } from './fixtures';

const narrow: OpenOptions = { kind: 'side', width: 280, height: 900 };
let known: Plan | null = null;
const plan = (): Plan => (known ??= planOf({ unit: 8 }));

const tooLarge = (): Plan => planOf({ stages: 24, tensor: 8, nodes: 24 });
/** What there was before the plan that is shown. */
function twoPlans(): HistoryState {
  const figures = planFigures(tooLarge());
  const change = { key: 'layout.tensor', a: '4', b: '8' };
  return {
    plans: [
      { id: 2, figures, changes: [change], isSaved: false, isPinned: false },
      { id: 1, figures: { ...figures, iterationMs: figures.iterationMs * 1.1 }, changes: [], isSaved: true, isPinned: false },
    ],
    mostPinned: 6,
    canUndo: true,
  };
}

const fixed: Fix = { title: sentence`Recompute attention: fits, 3 % slower`, preferred: true, edits: [] };

const inChunks: NonNullable<Plan['overLengths']> = {
  lengths: 2,
  documents: 8,
  meanTokens: 512,
  longestTokens: 2048,
  trainingTokens: 2048,
  cutShare: 0,
  draws: 100,
  exact: false,
  replicas: 1,
  ways: [
    {
      way: 'chunks',
      schedule: 'Seq1F1B',
      chunkTokens: 1024,
      cut: 'equal',
      expectedMs: 250,
      standardErrorMs: 1,
      worstMs: 400,
      tokensPerSecond: 1000,
      microBatches: 2,
      filled: 1,
      overBound: 1,
      peakBytes: 2 ** 33,
      fits: true,
      tight: false,
    },
  ],
};

/** The narrow live view, as a person uses it. */
export const sideCases: readonly Case[] = [
  {
    name: 'side: answers how long, how idle and whether it fits at first glance',
    options: narrow,
    state: () => stateOf('side', plan()),
    steps: async ({ page }) => {
      const chosen = chosenCandidate(plan());
      const text = await page.locator('.figures').innerText();
      const [value = '', unit = ''] = formatDuration(chosen.iterationMs).split(' ');
      assert.ok(text.includes(value) && text.includes(unit), text);
      assert.match(text, /bubble/);
      assert.match(text, /\/ 14\.3 GiB/);
      assert.equal(await page.locator('.figure').count(), 3);
      assert.equal(await page.locator('.strip').locator('visible=true').count(), 1);
      assert.match(await page.locator('.figure').first().getAttribute('title').then(String), /Pipeline .*gradient exchange .*optimizer/);
      return undefined;
    },
  },
  {
    name: 'side: one verdict comes before all else, and shows where the time goes',
    options: narrow,
    state: () => stateOf('side', plan()),
    steps: async ({ page, send }) => {
      const words = page.locator('.page:visible .glance-words');
      assert.match(
        (await words.innerText()).replaceAll('\u00a0', ' '),
        /^Fits, [\d.]+ GiB free\. 1\.\d+ s per step \(\d+ ms to [\d.]+ s\)\. [\w. %]+ of it is bubble, mostly filling and draining the pipeline\.$/,
      );
      assert.equal(await words.getAttribute('aria-live'), 'polite');
      assert.ok(await page.evaluate(`document.querySelector('.page:not([hidden])').firstElementChild.matches('.glance')`));
      await page.evaluate(`document.querySelector('.glance-words strong').dataset.kept = 'yes'`);
      await send({ type: 'state', state: stateOf('side', plan(), { staleEdits: 1 }) });
      await page.getByText('from 1 edit ago').waitFor();
      assert.equal(await page.locator('.glance-words strong[data-kept]').count(), 1, 'announced again without need');
      await send({ type: 'state', state: stateOf('side', { ...planOf({ unit: 64 }), overLengths: inChunks }) });
      await page.getByText('With the lengths of your documents 250 ms expected: chunks of 1,024 tokens').waitFor();
      return undefined;
    },
  },
  {
    name: 'side: what does not fit has the button that fixes it',
    options: narrow,
    state: () => stateOf('side', tooLarge(), { findings: [{ ...findings[0]!, fixes: [fixed] }] }),
    steps: async ({ page, send, messages }) => {
      assert.match(await page.locator('.glance-over').innerText(), /^Does not fit: [\d.]+\sGiB over on stage 23\./);
      await page.getByRole('button', { name: 'Recompute attention: fits, 3 % slower' }).click();
      assert.deepEqual((await messages()).at(-1), {
        type: 'fix',
        code: 'memory-over-capacity',
        title: 'Recompute attention: fits, 3 % slower',
      });
      await send({ type: 'state', state: stateOf('side', tooLarge(), { findings }) });
      await page.getByRole('button', { name: 'Search layouts that fit' }).click();
      assert.deepEqual((await messages()).at(-1), { type: 'command', command: 'terapipe.searchLayout' });
      return undefined;
    },
  },
  {
    name: 'side: with the tab in view it has what is wrong, its fixes and the plans that there were, and nothing twice',
    options: narrow,
    state: () =>
      stateOf('side', tooLarge(), { findings: [{ ...findings[0]!, fixes: [fixed] }, findings[1]!], tabInView: true, history: twoPlans() }),
    steps: async ({ page, send, messages }) => {
      const shown = page.locator('.page-side:visible');
      assert.equal(await shown.locator('.glance, .figures, canvas, .setting').locator('visible=true').count(), 0);
      await shown.getByRole('heading', { name: '2 findings' }).waitFor();
      await shown.getByRole('button', { name: 'Recompute attention: fits, 3 % slower' }).click();
      await shown.getByRole('button', { name: 'Compare', exact: true }).click();
      await shown.getByRole('button', { name: 'Undo' }).click();
      assert.deepEqual((await messages()).slice(-3), [
        { type: 'fix', code: 'memory-over-capacity', title: 'Recompute attention: fits, 3 % slower' },
        { type: 'past', act: 'compare', id: 1 },
        { type: 'undo' },
      ]);
      assert.match(await shown.locator('.side-plans').innerText(), /now[^]*tensor 4 to 8[^]*saved[^]*as opened/);
      await send({ type: 'update', fields: { tabInView: false } });
      await shown.locator('.glance').waitFor();
      assert.equal(await shown.locator('.figure').count(), 3);
      assert.equal(await shown.locator('.strip canvas').count(), 1);
      return undefined;
    },
  },
  {
    name: 'side: a price and the tokens to train on give the cost of a training',
    options: narrow,
    state: () => stateOf('side', plan(), { trainingCost: { tokens: 3e11, gpuHourPrice: 2, currency: 'EUR' } }),
    steps: async ({ page }) => {
      const { tokensPerSecond } = chosenCandidate(plan());
      const hours = (384 * 3e11) / tokensPerSecond / 3600;
      const text = (await page.locator('.figures').innerText()).replace(/\s+/g, ' ');
      assert.ok(text.includes(`GPU hours for 300B tokens ${formatCount(Math.round(hours))}`), text);
      assert.ok(text.includes(`for 300B tokens ${formatCount(Math.round(2 * hours))} EUR`), text);
      return undefined;
    },
  },
  {
    name: 'side: a click on the miniature opens the timeline in a tab',
    options: narrow,
    state: () => stateOf('side', plan()),
    steps: async ({ page, messages }) => {
      await page.locator('.strip-timeline canvas').click({ position: { x: 100, y: 40 } });
      await page.getByRole('button', { name: 'Open timeline' }).click();
      const opened = (await messages()).filter((message) => message.type === 'openTab');
      assert.deepEqual(
        opened.map(({ tab }) => tab),
        ['timeline', 'timeline'],
      );
      return undefined;
    },
  },
  {
    name: 'side: pointing names the operation',
    options: narrow,
    state: () => stateOf('side', plan()),
    steps: async ({ page }) => {
      const note = page.locator('.strip').first().locator('.strip-note');
      assert.equal(await note.innerText(), 'TeraPipe · 96 stages');
      await page.locator('.strip-timeline canvas').hover({ position: { x: 3, y: 1 } });
      assert.match(await note.innerText(), /^Forward of micro-batch 0, slice \d+ on stage 0$/);
      await page.getByRole('button', { name: 'Open timeline' }).hover();
      assert.equal(await note.innerText(), 'TeraPipe · 96 stages');
      return undefined;
    },
  },
  {
    name: 'side: findings and assumptions jump to their place',
    options: narrow,
    state: () => stateOf('side', plan(), { findings }),
    steps: async ({ page, messages }) => {
      await page.getByRole('button', { name: /Stage 0 needs/ }).click();
      await page.getByText('3 assumptions').click();
      await page.getByRole('button', { name: 'training.precision' }).click();
      const revealed = (await messages()).filter((message) => message.type === 'reveal');
      assert.equal(revealed.length, 2);
      assert.deepEqual(revealed[0]!.place, findings[0]!.place);
      return undefined;
    },
  },
  {
    name: 'side: begins its verdict with what the launcher refuses, that of an older plan too',
    options: narrow,
    state: () => stateOf('side', plan(), { findings: [{ ...findings[0]!, code: 'vpp-layers-lost' }, ...findings] }),
    steps: async ({ page, send }) => {
      const verdict = page.locator('.glance-over .glance-words:visible');
      assert.match(await verdict.innerText(), /^Does not start as written: 1\serror\. Fits, /);
      assert.equal(await page.locator('.glance-words:visible strong').innerText(), 'Does not start as written: 1\u00a0error.');
      await send({ type: 'update', fields: { staleEdits: 1 } });
      await page.locator('.stale').waitFor();
      assert.match(await verdict.innerText(), /^Does not start as written: 1\serror\. 1\sedit ago: Fits, /);
      return undefined;
    },
  },
  {
    name: 'side: at 280 px and at 220 px nothing is cut and nothing scrolls sideways',
    options: { ...narrow, theme: 'light' },
    state: () => stateOf('side', plan(), { findings, trusted: false, staleEdits: 3 }),
    steps: async ({ page, send }) => {
      const cut = async (): Promise<unknown> =>
        page.evaluate(`[...document.querySelectorAll('.page:not([hidden]) *')]
          .filter((element) => element.getBoundingClientRect().width > 0 && !element.matches('h1, .strip-note, .visually-hidden'))
          .filter((element) => element.getBoundingClientRect().right > innerWidth + 0.5 || (element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0 && getComputedStyle(element).display !== 'inline'))
          .map((element) => element.className + ': ' + element.textContent.slice(0, 40))`);
      assert.deepEqual(await cut(), []);
      const over = planOf({ stages: 24, tensor: 8, nodes: 24, title: 'a-very-long-model-name-without-any-place-to-break-it-at-all' });
      await send({ type: 'state', state: stateOf('side', over, { findings }) });
      await until('the plan over capacity', async () => (await page.locator('.figure-error').count()) === 1);
      assert.deepEqual(await cut(), []);
      await page.setViewportSize({ width: 220, height: 900 });
      assert.deepEqual(await cut(), []);
      return undefined;
    },
  },
  {
    name: 'side: each part of the scenario is a button that asks for that part',
    options: narrow,
    state: () => stateOf('side', plan()),
    steps: async ({ page, messages }) => {
      for (const name of [/ x V100-16GB/, / tokens/, /^batch /]) await page.getByRole('button', { name }).first().click();
      assert.deepEqual(
        (await messages()).slice(-3),
        ['gpus', 'sequence', 'batch'].map((about) => ({ type: 'command', command: 'terapipe.changeScenario', about })),
      );
      return undefined;
    },
  },
];
