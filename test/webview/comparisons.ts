import { compareWithTimes } from '../../src/features/compare/core/against-times';
import { compareWithTrace } from '../../src/features/compare/core/against-trace';
import { readMeasured } from '../../src/features/compare/core/measured';
import { comparePlans } from '../../src/features/compare/core/plans';
import { chosenCandidate, type Plan } from '../../src/core/planner/plan';
import { measuredAnswer, planSide, plansAnswer } from '../../src/features/compare/host/answers';
import type { ComparisonAnswer, PageComparison } from '../../src/features/compare/protocol';
import type { PageState } from '../../src/protocol/page';
import { exported, slowed } from '../unit/features/compare/core/plans';
import { planOf, stateOf, type Variant } from './fixtures';

const base: Variant = {
  title: 'llama-7b',
  gpu: 'A100-80GB',
  stages: 8,
  layers: 32,
  hidden: 4096,
  tensor: 1,
  nodes: 1,
  schedule: '1F1B',
  training: { globalBatch: 32, precision: 'bf16', attention: 'flash' },
};

function once<T>(make: () => T): () => T {
  let known: T | null = null;
  return () => (known ??= make());
}

/** 1F1B over eight stages. */
export const launched = once(() => planOf(base));
/** TeraPipe over four. */
const other = once(() =>
  planOf({ ...base, stages: 4, tensor: 2, schedule: 'TeraPipe', training: { ...base.training, recompute: 'full' } }),
);

export const plansCompared = once((): ComparisonAnswer => plansAnswerOf('plans-1', launched(), other()));

/** Two plans compared, A in `gpt/terapipe.json`. */
export function plansAnswerOf(id: string, a: Plan, b: Plan): ComparisonAnswer {
  const comparison = comparePlans(a, b, { a: 'A', b: 'B' });
  return plansAnswer(id, comparison, planSide('config', 'llama-7b/terapipe.json', a), planSide('config', 'llama-7b/wide.terapipe.json', b));
}

/** A trace in which the passes of stage 3 take 1.4 times their time. */
export const traceCompared = once((): ComparisonAnswer => {
  const plan = launched();
  const measured = readMeasured(exported(slowed(chosenCandidate(plan).timeline!, 3, 1.4)), 'run.json');
  if (measured.kind !== 'trace') throw new Error('no trace');
  const comparison = compareWithTrace(plan, measured.trace, 'run.json');
  return measuredAnswer('trace-1', comparison, plan, { config: 'llama-7b/terapipe.json', run: 'runs/trace.json' });
});

/** Step times of a run a fifth slower than predicted. */
export const timesCompared = once((): ComparisonAnswer => {
  const plan = launched();
  const stepMs = 1.2 * chosenCandidate(plan).iterationMs;
  const stepsMs = Array.from({ length: 20 }, (_, step) => (step < 5 ? 3 * stepMs : stepMs * (1 + 0.001 * step)));
  const comparison = compareWithTimes(plan, { stepsMs, stages: [] });
  return measuredAnswer('times-1', comparison, plan, { config: 'llama-7b/terapipe.json', run: 'runs/train.log' });
});

/** What the page gets of an answer. */
export function comparisonOf(answer: ComparisonAnswer | null, change: Partial<PageComparison> = {}): PageComparison {
  const { role = 'config', file = 'llama-7b/wide.terapipe.json' } = answer?.b ?? {};
  const kind = role === 'measured' || role === 'best' ? role : 'config';
  return { other: { role: kind, file }, running: null, answer, staleEdits: 0, error: null, ...change };
}

/** A tab that compares. */
export function comparedState(comparison: PageComparison | null): PageState {
  return stateOf('tab', launched(), { comparison });
}
