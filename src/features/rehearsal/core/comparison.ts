import { compareWithTrace, type TraceComparison } from '../../compare/core/against-trace';
import { makeTraceReader } from '../../compare/core/trace';
import { chosenCandidate, type Candidate, type Plan } from '../../../core/planner/plan';
import { formatBytes, formatPercent } from '../../../core/format';
import { isRightGradient } from './gradient-error';
import { isDisturbed, type Rehearsal } from './result';
import { sentence, type Sentence } from '../../../core/sentence';
import { chromeTrace } from '../../../core/export/chrome-trace';

/** Steps that a profile from the same processes predicts are off by this much at most, on a machine that does nothing else. */
const expectedErrorPercent = 10;

/** A rehearsed step compared with its own prediction, and the plan with that prediction. */
interface ComparedStep {
  readonly comparison: TraceComparison;
  /** The plan with what was run in place of what it chose. */
  readonly plan: Plan;
  /** What the rehearsal shows beyond its times: gradients, other work on the machine, memory of the processes. */
  readonly sentences: readonly Sentence[];
}

/** Null where no step was measured. @param name of what was measured, for errors. */
export function comparedStep(rehearsal: Rehearsal, plan: Plan, name: string): ComparedStep | null {
  const { design, measured, predicted } = rehearsal;
  if (measured === null || predicted === null) return null;
  const { makespanMs: iterationMs } = predicted;
  const candidate: Candidate = {
    ...chosenCandidate(plan),
    scheme: design.scheme,
    timeline: predicted,
    iterationMs,
    pipelineMs: iterationMs,
  };
  const rehearsed = { ...plan, candidates: [candidate], cost: { ...plan.cost, errorPercent: expectedErrorPercent } };
  const reader = makeTraceReader(name);
  for (const piece of chromeTrace(measured, { title: design.title })) reader.push(piece);
  return { comparison: compareWithTrace(rehearsed, reader.end(), name), plan: rehearsed, sentences: rehearsalSentences(rehearsal) };
}

function rehearsalSentences(rehearsal: Rehearsal): Sentence[] {
  const { gradients, waitedShare, memory } = rehearsal;
  const error = gradients?.error.toExponential(1) ?? '';
  const fullest = memory.toSorted((a, b) => (b.peakRssBytes ?? 0) - (a.peakRssBytes ?? 0))[0];
  return [
    ...(isRightGradient(gradients)
      ? [sentence`Gradients are those of the unsliced step: off by ${error} of the largest number of a tensor at most.`]
      : []),
    ...(isDisturbed(rehearsal)
      ? [
          sentence`Other programs took the processor for ${formatPercent(waitedShare ?? 0)} of the passes' time: rehearse again on an idle machine.`,
        ]
      : []),
    ...(fullest === undefined || fullest.peakRssBytes === null
      ? []
      : [
          sentence`The process of stage ${fullest.stage} took most memory: ${formatBytes(fullest.peakRssBytes)}, estimated ${formatBytes(fullest.estimatedBytes)}.`,
        ]),
  ];
}
