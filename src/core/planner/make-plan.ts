import { ExpectedError, type CancelSignal } from '../errors';
import { parameterCount } from '../model/parameters';
import type { PlanRequest } from '../spec/request';
import { candidateSpecs } from './candidates';
import { requestedSchedule, choose } from './choose';
import { limitsOf, provenanceOf, reasonsOf } from './explain';
import { pipelineOf } from './pipeline';
import { chosenOf, type AnalyticPlan, type Candidate, type CandidateId, type Plan } from './plan';
import { predictAll } from './predict';
import { nothingToPlan, requireRunnable } from './refusals';
import type { SlicingListener } from './sliced';

/** `onIncumbent` hears of the best slices so far while they are solved for. */
export interface PlanOptions extends SlicingListener {
  /**
   * Operations of all candidates together whose timelines are kept at most, those of the chosen one first; left out: of all that can be
   * drawn.
   */
  readonly drawnOperations?: number;
}

/**
 * The plan for a request: the TeraPipe optimum beside the same pipeline without token slices, its best equal slices, 1F1B, GPipe and every
 * other schedule that can run; the one chosen is the
 * schedule asked for, or the fastest that fits memory of those that the launcher runs (`choose`).
 *
 * @throws ExpectedError `plan-*` when the request cannot run at all, `schedule-unmet` when its schedule cannot; CancelledError.
 */
export function makePlan(request: PlanRequest, options: PlanOptions = {}): Plan {
  const { signal, onProgress, onIncumbent, drawnOperations = Infinity } = options;
  requireRunnable(request);
  const pipeline = pipelineOf(request);
  const listener = { signal, onIncumbent, onProgress: (fraction: number) => onProgress?.(0.7 * fraction) };
  const { specs, skipped } = candidateSpecs(request, pipeline, listener);
  const outcomes = predictAll(pipeline, specs, { signal, onProgress: (fraction) => onProgress?.(0.7 + 0.3 * fraction) });
  const candidates = outcomes.flatMap(({ outcome }) => (outcome === null || outcome instanceof ExpectedError ? [] : [outcome]));
  const chosen = choose(request, candidates);
  if (chosen === undefined) {
    const wanted = requestedSchedule(request) ?? '1F1B';
    const refusal = outcomes.find(({ spec, outcome }) => spec.schedule === wanted && outcome instanceof ExpectedError)?.outcome;
    throw refusal instanceof ExpectedError ? refusal : nothingToPlan(request);
  }
  const analytic = request.profile === null ? null : analyticPlan(request, signal);
  const cost = provenanceOf(request, pipeline);
  return {
    request,
    chosen: chosen.id,
    candidates: drawnWithin(candidates, chosen.id, drawnOperations),
    notCompared: skipped,
    cost,
    analytic,
    parameters: parameterCount(request.model),
    limits: limitsOf(request, pipeline, chosen),
    reasons: reasonsOf({ request, pipeline, candidates, chosen, skipped, analytic, cost }, signal),
  };
}

/** The candidates, timelines only of the chosen one and of as many others, in order, as there is room for. */
function drawnWithin(candidates: readonly Candidate[], chosen: CandidateId, mostOperations: number): readonly Candidate[] {
  const drawn = new Set<CandidateId>();
  let left = mostOperations;
  for (const { id, timeline } of candidates.toSorted((a, b) => Number(b.id === chosen) - Number(a.id === chosen))) {
    if (timeline === null || timeline.kind.length > left) continue;
    drawn.add(id);
    left -= timeline.kind.length;
  }
  return candidates.map((candidate) => (drawn.has(candidate.id) ? candidate : { ...candidate, timeline: null }));
}

/** What the analytic model alone would have planned, so that a plan from a profile can say how it differs. */
function analyticPlan(request: PlanRequest, signal: CancelSignal | undefined): AnalyticPlan {
  const plan = makePlan({ ...request, profile: null }, { signal });
  const { id, name, scheme, iterationMs } = chosenOf(plan);
  return { id, name, scheme, iterationMs };
}
