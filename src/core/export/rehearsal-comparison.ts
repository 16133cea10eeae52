import { compareWithTrace, type TraceComparison } from '../compare/against-trace';
import { makeTraceReader } from '../compare/trace';
import { chosenOf, type Candidate, type Plan } from '../planner/plan';
import type { Rehearsal } from '../rehearsal/result';
import { chromeTrace } from './chrome-trace';

/** Steps that a profile from the same processes predicts are off by so much at most, on a machine that does nothing else. */
const expectedErrorPercent = 10;

/** A rehearsed step beside its own prediction, and the plan that says so. */
export interface ComparedStep {
  readonly comparison: TraceComparison;
  /** The plan with what was run in place of what it chose. */
  readonly plan: Plan;
}

/** Null where no step was measured. @param name of what was measured, for errors. */
export function comparedStep({ design, measured, predicted }: Rehearsal, plan: Plan, name: string): ComparedStep | null {
  if (measured === null || predicted === null) return null;
  const { makespanMs: iterationMs } = predicted;
  const candidate: Candidate = { ...chosenOf(plan), scheme: design.scheme, timeline: predicted, iterationMs, pipelineMs: iterationMs };
  const rehearsed = { ...plan, candidates: [candidate], cost: { ...plan.cost, errorPercent: expectedErrorPercent } };
  const reader = makeTraceReader(name);
  for (const piece of chromeTrace(measured, { title: design.title })) reader.push(piece);
  return { comparison: compareWithTrace(rehearsed, reader.end(), name), plan: rehearsed };
}
