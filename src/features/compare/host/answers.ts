import { chosenCandidate, type Candidate, type Plan } from '../../../core/planner/plan';
import type { PlanComparison } from '../core/plans';
import { comparisonSentences, type Comparison } from '../json';
import type { ComparedRole, ComparedSide, ComparisonAnswer } from '../protocol';

/** A plan as a side, by what it chose or by another of its candidates. */
export function planSide(role: ComparedRole, file: string, plan: Plan, candidate: Candidate = chosenCandidate(plan)): ComparedSide {
  const { name, iterationMs, bubbleRate, timeline } = candidate;
  return { role, file, how: name, lengthMs: iterationMs, bubbleRate, timeline };
}

/** The answer for two plans. @param id another one for every answer. */
export function plansAnswer(id: string, reported: PlanComparison, a: ComparedSide, b: ComparedSide): ComparisonAnswer {
  return { id, reported, sentences: comparisonSentences(reported), a, b };
}

/** The answer for a plan and a measured run. `files`: display paths. */
export function measuredAnswer(
  id: string,
  comparison: Exclude<Comparison, PlanComparison>,
  plan: Plan,
  files: { readonly config: string; readonly run: string },
): ComparisonAnswer {
  const sentences = comparisonSentences(comparison);
  const run = { role: 'measured', file: files.run } as const;
  if (comparison.kind === 'times') {
    const b: ComparedSide = { ...run, how: '', lengthMs: comparison.step?.measuredMs ?? null, bubbleRate: null, timeline: null };
    return { id, reported: comparison, sentences, a: planSide('config', files.config, plan), b };
  }
  const { placed, ...reported } = comparison;
  const { pipeline, bubble } = reported;
  const candidate = plan.candidates.find((each) => each.id === reported.candidate);
  const predicted = planSide('config', files.config, plan, candidate);
  return {
    id,
    reported,
    sentences,
    a: { ...predicted, lengthMs: pipeline.predictedMs, bubbleRate: bubble.predicted },
    b: { ...run, how: predicted.how, lengthMs: pipeline.measuredMs, bubbleRate: bubble.measured, timeline: placed.measured },
  };
}
