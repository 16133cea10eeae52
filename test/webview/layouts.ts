import { answerSearch, type SearchUpdate } from '../../src/core/layout-search/answer';
import type { SearchResult } from '../../src/core/layout-search/result';
import type { SearchKey } from '../../src/core/domain/layout-choices';
import { scheduledStageLayers } from '../../src/core/partition/chunks';
import { chosenCandidate, type Plan } from '../../src/core/planner/plan';
import { launchedPageLayout, toLayoutAnswer, noLayoutState, type LayoutState } from '../../src/protocol/layout';
import type { PageState } from '../../src/protocol/page';
import { planOf, stateOf, type Variant } from './fixtures';

/** A model of 30B parameters on 4 nodes of H100, in a layout that is not the best. */
const launched: Variant = {
  title: 'gpt-30b',
  gpu: 'H100-80GB',
  layers: 24,
  hidden: 10240,
  nodes: 4,
  tensor: 8,
  stages: 4,
  data: 1,
  schedule: '1F1B',
  unit: 256,
  training: { globalBatch: 32, attention: 'flash', precision: 'bf16', zeroStage: 1, recompute: 'full' },
};

/** What the planner answers for a real request, and all its updates on the way. */
export interface Searched {
  readonly plan: Plan;
  readonly result: SearchResult;
  readonly updates: readonly SearchUpdate[];
}

/** Searches the layouts of a variant; the plan is its own layout. */
export function searchedOf(variant: Variant = launched, improvements = true, fixed: readonly SearchKey[] = []): Searched {
  const plan = planOf(variant);
  const updates: SearchUpdate[] = [];
  const onUpdate = (update: SearchUpdate): void => void updates.push(update);
  const result = answerSearch({ request: plan.request, fixed: new Set(fixed), launched: true }, { improvements }, { onUpdate });
  return { plan, result, updates };
}

let known: Searched | null = null;

/** The search of the usual variant, made once. */
export function usualSearch(): Searched {
  return (known ??= searchedOf());
}

/** What the Layout tab shows after a search. */
export function layoutOf({ plan, result }: Searched, change: Partial<LayoutState> = {}): LayoutState {
  return { ...noLayoutState, answer: toLayoutAnswer(result, 'search-1'), launched: launchedPageLayout(plan), ...change };
}

/** A tab with a state of the Layout view. */
export function layoutState(layout: LayoutState | null, plan = usualSearch().plan): PageState {
  const cut = scheduledStageLayers(plan.request, chosenCandidate(plan).schedule);
  return stateOf('tab', plan, {
    layout,
    whatIf: { edits: 0, chunks: 'several', leavesOpen: true, cut, sets: [], tried: null, error: null },
  });
}
