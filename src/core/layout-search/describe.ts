import { throwIfCancelled, type CancelSignal } from '../errors';
import type { Scheme } from '../domain/scheme';
import type { Prediction } from '../planner/predict/predict';
import { onLargerGpu } from '../memory-model/reserved';
import { memoryVerdict } from '../memory-model/verdict';
import { partsByStage } from '../planner/explain/step-parts';
import { meanParts, type StepTimes } from '../planner/explain/step-part-names';
import type { Evaluator } from './evaluate';
import type { SearchProblem } from './search-problem';
import { toCostInputs, type SearchPoint } from './known';
import type { FoundPlan } from './result';

export interface Describer {
  readonly plan: (point: SearchPoint, scheme?: Scheme) => FoundPlan;
  /** A point that is predicted already. */
  readonly found: (point: SearchPoint, candidate: Prediction) => FoundPlan;
}

/**
 * Points with all their numbers.
 * @param problem whose GPUs verdicts are about, whatever memory `evaluator` leaves them.
 */
export function createDescriber(problem: SearchProblem, evaluator: Evaluator, signal?: CancelSignal): Describer {
  const found = (point: SearchPoint, candidate: Prediction): FoundPlan => {
    const { scheme, iterationMs, bubbleRate, tokensPerSecond, mfu, fits, name } = candidate;
    const [inputs, { memoryBytes }] = [toCostInputs(problem.request, point), problem.request.cluster.gpu];
    const verdict = memoryVerdict({ stages: candidate.memory.stages.map((stage) => onLargerGpu(inputs, stage, memoryBytes)) });
    return {
      point,
      name,
      scheme,
      iterationMs,
      peakBytes: verdict.peakBytes,
      fits,
      verdict,
      bubbleRate,
      tokensPerSecond,
      mfu,
      tie: false,
      parts: meanStepParts(problem, evaluator, point, candidate),
    };
  };
  return {
    found,
    plan: (point, given) => {
      throwIfCancelled(signal);
      return found(point, evaluator.candidate(point, given, signal));
    },
  };
}

/** What the step of a candidate goes to, the mean of all stages. */
function meanStepParts(problem: SearchProblem, evaluator: Evaluator, point: SearchPoint, candidate: Prediction): StepTimes {
  const { costTable, profile } = problem.request;
  const measured = costTable !== null ? 'with sends' : profile !== null ? 'without sends' : false;
  return meanParts(partsByStage(evaluator.pipeline(point), candidate, measured));
}
