import type { TraceComparison } from './core/against-trace';
import { timesSentences, type TimesComparison } from './core/against-times';
import { planSentences } from './core/plan-labels';
import type { PlanComparison, PlanOutcome } from './core/plans';
import { traceSentences } from './core/trace-labels';
import { say, type Sentence } from '../../core/sentence';

/** What a plan was compared with. */
export type Comparison = PlanComparison | TraceComparison | TimesComparison;

/** Results of a comparison, what matters most first. */
export function comparisonSentences(comparison: Comparison): Sentence[] {
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
  const sentences = comparisonSentences(comparison).map((sentence) => say(sentence));
  if (comparison.kind === 'plan') {
    const { a, b, parts } = comparison;
    const outcome = (plan: PlanOutcome): object => ({ ...plan, candidate: say(plan.candidate) });
    return {
      ...comparison,
      a: outcome(a),
      b: outcome(b),
      parts: parts.map((part) => ({ ...part, name: say(part.name) })),
      sentences,
    };
  }
  if (comparison.kind !== 'trace') return { ...comparison, sentences };
  const { placed, ...reported } = comparison;
  const { steps, step, warmUp, replicas, foreign, measured } = placed;
  return { ...reported, steps, step, warmUp, replicas, foreign, passes: measured.kind.length, sentences };
}
