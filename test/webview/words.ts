import assert from 'node:assert/strict';
import type { ComparisonAnswer } from '../../src/features/compare/protocol';
import type { PageState } from '../../src/protocol/page';
import type { Case } from './cases';
import { comparedState, comparisonOf, launched, plansAnswerOf, plansCompared, timesCompared, traceCompared } from './comparisons';
import { manySchedules } from './compare';
import { planOf, stateOf } from './fixtures';
import { layoutOf, layoutState, usualSearch } from './layouts';
import { profilesOf } from './profiles';

interface Budget {
  readonly tab: string;
  readonly what: string;
  readonly most: number;
  readonly state: () => PageState;
}

/** Two plans of which little is alike: models, GPUs and their number, batch, layout. */
function unlike(): ComparisonAnswer {
  const larger = planOf({
    title: 'llama-30b',
    gpu: 'H100-80GB',
    stages: 4,
    layers: 60,
    hidden: 6656,
    tensor: 4,
    nodes: 4,
    training: { globalBatch: 256, precision: 'bf16', recompute: 'full', zeroStage: 1, sequenceParallel: true },
  });
  return plansAnswerOf('plans-unlike', launched(), larger);
}

const budgets: readonly Budget[] = [
  { tab: 'layout', what: 'of a search', most: 600, state: () => layoutState(layoutOf(usualSearch())) },
  { tab: 'memory', what: 'of 96 stages', most: 250, state: () => stateOf('tab', planOf({ unit: 56 })) },
  { tab: 'memory', what: 'of 8 stages', most: 250, state: () => stateOf('tab', manySchedules()) },
  { tab: 'compare', what: 'of every schedule', most: 250, state: () => stateOf('tab', manySchedules()) },
  { tab: 'compare', what: 'of two plans', most: 250, state: () => comparedState(comparisonOf(plansCompared())) },
  { tab: 'compare', what: 'of two models', most: 250, state: () => comparedState(comparisonOf(unlike())) },
  { tab: 'compare', what: 'with a trace', most: 250, state: () => comparedState(comparisonOf(traceCompared())) },
  { tab: 'compare', what: 'with step times', most: 250, state: () => comparedState(comparisonOf(timesCompared())) },
  {
    tab: 'profile',
    what: 'without a GPU',
    most: 60,
    state: () => stateOf('tab', planOf({ unit: 56 }), { profile: profilesOf([], { mayHaveGpu: false }) }),
  },
  { tab: 'profile', what: 'without a profile', most: 60, state: () => stateOf('tab', planOf({ unit: 56 }), { profile: profilesOf([]) }) },
];

/** How many words a tab shows at most. */
export const wordCases: readonly Case[] = budgets.flatMap(({ tab, what, most, state }) =>
  [541, 900, 1440, 2400].map((width): Case => ({
    name: `words: ${tab} ${what} has at most ${most} on a page ${width} px wide`,
    options: { kind: 'tab', width, height: 1100, savedState: { tab } },
    state,
    steps: async ({ page }) => {
      const text = await page.getByRole('tabpanel').innerText();
      const words = text.split(/\s+/).filter((word) => word !== '').length;
      assert.ok(words <= most, `${words} words`);
      return `words: ${words} of ${tab} ${what} at ${width} px`;
    },
  })),
);
