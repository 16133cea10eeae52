import assert from 'node:assert/strict';
import { formatDuration } from '../../src/core/format';
import { memoryVerdict } from '../../src/core/memory-model/verdict';
import { chosenCandidate } from '../../src/core/planner/plan';
import type { PageState } from '../../src/protocol/page';
import { planFigures, type HistoryState, type PastPlan } from '../../src/protocol/what-if';
import { show, type Case } from './cases';
import { planOf, stateOf } from './fixtures';

const wide = { kind: 'tab', width: 1500, height: 820, savedState: { tries: 'all' } } as const;
const plan = planOf({ unit: 56, data: 2, stages: 48 });
const figures = planFigures(plan);
const slower = { ...figures, iterationMs: figures.iterationMs * 1.08, tokensPerSecond: figures.tokensPerSecond / 1.08 };
const past = (id: number, change: Partial<PastPlan>): PastPlan => ({
  id,
  figures,
  changes: [{ key: 'layout.tensor', a: '4', b: '8' }],
  isSaved: false,
  isPinned: false,
  ...change,
});

function state(history: HistoryState): PageState {
  return stateOf('tab', plan, { history });
}

export const historyCases: readonly Case[] = [
  {
    name: 'history: the history shows the difference since saved, pins plans, compares them with the current one and undoes',
    options: wide,
    state: () => {
      const faster = { ...figures, iterationMs: figures.iterationMs - 400 };
      const history: HistoryState = {
        plans: [past(3, { figures: faster }), past(2, { isPinned: true, figures: slower }), past(1, { isSaved: true, changes: [] })],
        mostPinned: 6,
        canUndo: true,
      };
      return state(history);
    },
    steps: async ({ page, messages }) => {
      await page.getByText('\u2212400 ms since saved').click();
      const rows = page.getByRole('table', { name: 'Plans since this config was opened' }).getByRole('row');
      assert.match(await rows.nth(1).innerText(), /3\s*now[\s\S]*tensor 4 to 8[\s\S]*Pin/);
      assert.match(await rows.nth(3).innerText(), /1\s*saved[\s\S]*as opened/);
      await rows.nth(2).getByRole('button', { name: 'Compare' }).click();
      await rows.nth(2).getByRole('button', { name: 'Unpin' }).click();
      await page.keyboard.press('Escape');
      assert.ok(await rows.nth(1).isHidden());
      await page.getByRole('button', { name: 'Undo' }).click();
      assert.deepEqual((await messages()).slice(-3), [
        { type: 'past', act: 'compare', id: 2 },
        { type: 'past', act: 'unpin', id: 2 },
        { type: 'undo' },
      ]);
      return undefined;
    },
  },
  {
    name: 'history: the Compare tab lists pinned plans with what the plan now takes more, compares with them and unpins them',
    options: { ...wide, savedState: { tab: 'compare' } },
    state: () => {
      const over = { ...memoryVerdict(chosenCandidate(plan).memory), fits: false, roomBytes: -1.5 * 2 ** 30 };
      const plans = [
        past(4, {}),
        past(3, {}),
        past(2, { isPinned: true, figures: { ...slower, verdict: over } }),
        past(1, { isSaved: true }),
      ];
      return state({ plans, mostPinned: 6, canUndo: false });
    },
    steps: async ({ page, send, messages }) => {
      const table = page.getByRole('table', { name: /^Pinned plans/ });
      const rows = table.locator('tbody tr');
      assert.equal(await rows.count(), 1);
      const faster = `\u2212${formatDuration(slower.iterationMs - figures.iterationMs)}`;
      const text = await rows.innerText();
      assert.ok(text.includes('Plan 2: ') && text.includes(formatDuration(slower.iterationMs)) && text.includes(faster), text);
      assert.match(text, /does not fit, 1\.5 GiB over/);
      await rows.getByRole('button', { name: 'Compare' }).click();
      await rows.getByRole('button', { name: 'Unpin' }).click();
      assert.deepEqual((await messages()).slice(-2), [
        { type: 'past', act: 'compare', id: 2 },
        { type: 'past', act: 'unpin', id: 2 },
      ]);
      await send(show(state({ plans: [past(4, { isPinned: true }), past(3, {})], mostPinned: 6, canUndo: false })));
      await rows.getByText('now').waitFor();
      assert.equal(await rows.getByRole('button', { name: 'Compare' }).count(), 0);
      await send(show(state({ plans: [past(4, {})], mostPinned: 6, canUndo: false })));
      await table.waitFor({ state: 'hidden' });
      return undefined;
    },
  },
  {
    name: 'history: where as many plans are pinned as are kept, another cannot be, and the list shows why',
    options: wide,
    state: () => {
      const plans = Array.from({ length: 8 }, (_, index) => past(8 - index, { isPinned: index > 1 }));
      return state({ plans, mostPinned: 6, canUndo: false });
    },
    steps: async ({ page, send, messages }) => {
      await page.locator('.history-summary').click();
      const rows = page.getByRole('table', { name: 'Plans since this config was opened' }).getByRole('row');
      const pin = rows.nth(1).getByRole('button', { name: 'Pin', exact: true });
      const note = page.locator('.history-list').getByText('6 plans are pinned. Unpin one to pin another.');
      await note.waitFor();
      assert.equal(await pin.getAttribute('aria-disabled'), 'true');
      assert.equal(await pin.getAttribute('aria-describedby'), await note.getAttribute('id'));
      await pin.click({ force: true });
      assert.ok(!(await messages()).some(({ type }) => type === 'past'));
      await rows.nth(3).getByRole('button', { name: 'Unpin' }).click();
      assert.deepEqual((await messages()).at(-1), { type: 'past', act: 'unpin', id: 6 });
      const plans = Array.from({ length: 8 }, (_, index) => past(8 - index, { isPinned: index > 2 }));
      await send(show(state({ plans, mostPinned: 6, canUndo: false })));
      await note.waitFor({ state: 'hidden' });
      await pin.click();
      assert.deepEqual((await messages()).at(-1), { type: 'past', act: 'pin', id: 8 });
      return undefined;
    },
  },
];
