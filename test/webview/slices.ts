import assert from 'node:assert/strict';
import { formatDuration } from '../../src/core/format';
import { chosenCandidate, type Plan } from '../../src/core/planner/plan';
import type { OpenOptions } from './browser';
import { drawnColors, show, type Case } from './cases';
import { answeredFirst, planOf, stateOf } from './fixtures';

const tab: OpenOptions = { kind: 'tab', width: 1280, height: 1000, savedState: { tab: 'slices' } };
const small = { layers: 8, stages: 4, tensor: 1, nodes: 1, hidden: 2048, unit: 128 } as const;
const sliced = (): Plan => planOf({ ...small, schedule: 'TeraPipe' });
const whole = (): Plan => planOf({ ...small, schedule: '1F1B', training: { globalBatch: 8 } });
/** Larger layers and fewer sequences than stages, which slices make shorter. */
const fewSequences = (): Plan => planOf({ layers: 8, stages: 8, nodes: 4, unit: 128, schedule: '1F1B' });

/** Cuts that are moved, and what that costs. */
export const sliceCases: readonly Case[] = [
  {
    name: 'slices: every way to cut is shown above its schedule, and one sentence explains the cut of the plan',
    options: tab,
    state: () => stateOf('tab', sliced()),
    steps: async (open) => {
      const { page } = open;
      assert.match(await page.locator('.slices-why').innerText(), /^[^.]+( [\d.]+ (ms|%))?[^.]*\S\.$|tokens/);
      const ways = page.locator('.cut-way');
      assert.ok((await ways.count()) >= 3);
      assert.match(await ways.first().innerText(), new RegExp(`Optimized\\s+${formatDuration(chosenCandidate(sliced()).iterationMs)}`));
      assert.equal(await ways.first().getAttribute('aria-pressed'), 'true');
      await page.getByRole('button', { name: /^Whole sequence/ }).click();
      assert.match(
        await page.locator('.cut-editor .cut-answer').innerText(),
        /^[\d.]+ ms per step: [\d.]+ % \([\d.]+ ms\) longer than the plan\. Fits, /,
      );
      assert.equal(await page.locator('.cut-handle').count(), 0);
      assert.ok((await drawnColors(open, '.cut-lanes')) > 3);
      assert.match(await page.locator('.cut-memory').innerText(), /At most \d+ slices? in flight on stage \d+: .+ of activations/);
      await page.getByRole('button', { name: 'Back to the plan' }).click();
      assert.match(await page.locator('.cut-editor .cut-answer').innerText(), /per step, as planned\./);
      return undefined;
    },
  },
  {
    name: 'slices: a cut is moved by keys and by mouse, simulated again, and its cost is shown',
    options: tab,
    state: () => stateOf('tab', sliced()),
    steps: async ({ page }) => {
      const answer = page.locator('.cut-editor .cut-answer');
      const cut = page.getByRole('slider', { name: 'Cut 1', exact: true });
      const before = Number(await cut.getAttribute('aria-valuenow'));
      const own = await answer.innerText();
      await cut.press('ArrowLeft');
      assert.equal(Number(await cut.getAttribute('aria-valuenow')), before - 128);
      assert.match((await cut.getAttribute('aria-valuetext')) ?? '', /^after \d+ tokens: slices of \d+ tokens and \d+ tokens$/);
      assert.match(await answer.innerText(), /than the plan|as planned/);
      assert.equal(await answer.getAttribute('aria-live'), 'polite');
      await cut.press('ArrowRight');
      assert.equal(await answer.innerText(), own);
      const count = await page.locator('.cut-handle').count();
      await cut.press('Delete');
      assert.equal(await page.locator('.cut-handle').count(), count - 1);
      await page.getByRole('button', { name: 'Back to the plan' }).click();
      const box = (await cut.boundingBox())!;
      const strip = (await page.locator('.cut-handles').boundingBox())!;
      await page.mouse.move(box.x + 4, box.y + 10);
      await page.mouse.down();
      await page.mouse.move(box.x + 4 - (strip.width * 128) / 2048, box.y + 10, { steps: 4 });
      await page.mouse.up();
      await page.evaluate('harness.drawn()');
      assert.equal(Number(await cut.getAttribute('aria-valuenow')), before - 128);
      assert.notEqual(await answer.innerText(), own);
      return undefined;
    },
  },
  {
    name: 'slices: a cut that was moved, and slices that are tried, stay when the other schedules of the plan arrive',
    options: tab,
    state: () => answeredFirst(sliced()),
    steps: async ({ page, send }) => {
      const cut = page.getByRole('slider', { name: 'Cut 1', exact: true });
      await cut.press('ArrowLeft');
      const moved = await cut.getAttribute('aria-valuenow');
      await send(show(stateOf('tab', sliced())));
      assert.equal(await cut.getAttribute('aria-valuenow'), moved);

      await send(show(answeredFirst(whole())));
      await page.getByRole('button', { name: 'Try 4 slices' }).click();
      const answer = page.locator('.invitation .cut-answer');
      const first = await answer.innerText();
      assert.match(first, /^Seq1F1B with 4 equal slices/);
      await send(show(stateOf('tab', whole())));
      assert.equal(await answer.innerText(), first);
      return undefined;
    },
  },
  {
    name: 'slices: where nothing is sliced the tab explains slices, tries them and plans with them',
    options: tab,
    state: () => stateOf('tab', whole()),
    steps: async ({ page, send, messages }) => {
      assert.equal(await page.locator('.slices-view .picture').count(), 1);
      assert.doesNotMatch(await page.locator('.slices-view').innerText(), /Slice 0|Slice\s+0/);
      const answer = page.locator('.invitation .cut-answer');
      await page.getByRole('button', { name: 'Try 4 slices' }).click();
      assert.match(await answer.innerText(), /^Seq1F1B with 4 equal slices: [\d.]+ ms per step, [\d.]+ % slower: keep the current plan\.$/);
      assert.equal(await page.getByRole('button', { name: 'Plan with Seq1F1B' }).count(), 0, 'what is slower is offered');
      await send(show(stateOf('tab', fewSequences())));
      await page.getByRole('button', { name: 'Try 4 slices' }).click();
      assert.match(await answer.innerText(), /^Seq1F1B with 4 equal slices: [\d.]+ ms per step, [\d.]+x as fast\.$/);
      await page.getByRole('button', { name: 'Plan with Seq1F1B' }).click();
      assert.deepEqual((await messages()).at(-1), { type: 'change', change: { key: 'schedule', value: 'Seq1F1B' } });
      return undefined;
    },
  },
];
