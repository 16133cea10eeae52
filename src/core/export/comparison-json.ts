import type { TraceComparison } from '../compare/against-trace';
import { timesSentences, type TimesComparison } from '../compare/against-times';
import { planSentences } from '../compare/plan-labels';
import type { PlanComparison } from '../compare/plans';
import { traceSentences } from '../compare/trace-labels';

/** What a plan was compared with. */
export type Comparison = PlanComparison | TraceComparison | TimesComparison;

/** What a comparison says, what matters most first. */
export function comparisonSentences(comparison: Comparison): string[] {
  switch (comparison.kind) {
    case 'plan':
      return planSentences(comparison);
    case 'trace':
      return traceSentences(comparison);
    case 'times':
      return timesSentences(comparison);
  }
}

/**
 * A comparison as `terapipe plan --compare --json` prints it: without the measured timeline. Times ms, memory bytes; fields are added,
 * never renamed.
 */
export function comparisonJson(comparison: Comparison): object {
  const sentences = comparisonSentences(comparison);
  // `asked` is the name that `requestDiff` had first.
  if (comparison.kind === 'plan') return { ...comparison, asked: comparison.requestDiff, sentences };
  if (comparison.kind !== 'trace') return { ...comparison, sentences };
  const { placed, ...reported } = comparison;
  const { steps, step, warmUp, replicas, foreign, measured } = placed;
  return { ...reported, steps, step, warmUp, replicas, foreign, passes: measured.kind.length, sentences };
}
