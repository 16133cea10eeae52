import { sentence } from '../sentence';
import { ExpectedError, type CancelSignal } from '../errors';
import { parameterCount } from '../model/parameters';
import { costProvenance } from '../time-model/provenance';
import { lengthShares } from '../domain/scheme';
import type { PlanRequest } from '../domain/request';
import type { ScheduleName } from '../domain/schedule-names';
import { askedSpecs, candidateSpecs, choosableSpecs } from './candidates/candidate-specs';
import { choose, isAskedFor, requestedSchedule } from './choose';
import { coveringAssumed } from './explain/assumed';
import { chosenLimits, chosenParts, planReasons } from './explain/explain';
import type { OverLengths } from './lengths/lengths-result';
import { lengthReasons } from './lengths/length-reasons';
import { overLengths } from './lengths/over-lengths';
import { buildPipeline, type Pipeline } from './predict/pipeline';
import { chosenCandidate, type AnalyticPlan, type Candidate, type CandidateId, type Plan } from './plan';
import { predictAll, type CandidateSpec, type Outcome } from './predict/predict';
import { isRun } from '../schedules/runtimes';
import { nothingToPlan, requireRunnable } from './refusals';
import type { SlicingListener } from './candidates/terapipe-slices';
import { withChosenStages, withOpenStages, withVirtualStages } from './candidates/virtual-stages';

/** `onIncumbent` is called with the best slices so far during the solve. */
interface PlanOptions extends SlicingListener {
  /** Most operations, over all candidates, whose timelines are kept, the chosen one's first; left out: all that can be drawn. */
  readonly drawnOperations?: number;
  /** False: only the candidates that may be chosen, no plans of other lengths or times, and no reasons; the same candidate is chosen. */
  readonly isCompared?: boolean;
  /** True: where it is not compared, also every schedule that the runtime runs, though another was asked for. */
  readonly withRun?: boolean;
  /** Called early with the requested schedule only, if there is one; the full plan with its comparisons follows, and chooses the same. */
  readonly onFirst?: ((plan: Plan) => void) | undefined;
}

/**
 * The plan for a request: the TeraPipe optimum, the same pipeline without token slices, its best equal slices, 1F1B, GPipe and every other
 * schedule that can run; the one chosen is the schedule asked for, or the fastest one that the runtime runs and that fits memory
 * (`choose`).
 *
 * @throws ExpectedError `plan-*` when the request cannot run at all, `schedule-unmet` when its schedule cannot; CancelledError.
 */
export function makePlan(asked: PlanRequest, options: PlanOptions = {}): Plan {
  const { signal, onProgress, onIncumbent, onFirst, isCompared = true, withRun = false, drawnOperations = Infinity } = options;
  const request = withOpenStages(asked);
  requireRunnable(request);
  const pipeline = withChosenStages(request, buildPipeline(request), signal);
  const predicted = predictedOnce(pipeline, signal);
  const planned = { request, pipeline, isCompared, drawnOperations, signal };
  let first: Plan | undefined;
  const sendFirst = (specs: readonly CandidateSpec[]): void => {
    if (specs.length > 0) first = assemblePlan({ ...planned, candidates: predictedCandidates(predicted(specs)), skipped: [] });
    if (first !== undefined) onFirst?.(first);
  };
  const early = onFirst === undefined ? [] : askedSpecs(request, pipeline, { signal });
  sendFirst(early);
  const listener = { signal, onIncumbent, onProgress: (fraction: number) => onProgress?.(0.7 * fraction) };
  const { specs, skipped } = isCompared
    ? candidateSpecs(request, pipeline, listener)
    : { specs: choosableSpecs(request, pipeline, listener, withRun), skipped: [] };
  if (onFirst !== undefined && early.length === 0) {
    const asked = specs.filter(({ id, kind }) => isAskedFor(request, { id, schedule: kind.schedule }) === true);
    if (asked.length < specs.length) sendFirst(asked);
  }
  const outcomes = predicted(specs, (fraction) => onProgress?.(0.7 + 0.3 * fraction));
  const { lengths } = request.training;
  const over = lengths === undefined || !isCompared ? null : overLengths(request, pipeline, lengthShares(lengths), signal);
  const analytic = isCompared ? analyticPlan(request, signal) : null;
  const plan = assemblePlan({ ...planned, first, candidates: predictedCandidates(outcomes), skipped, analytic, over });
  if (plan !== undefined) return plan;
  const wanted = requestedSchedule(request) ?? '1F1B';
  const refusal = outcomes.find(({ spec, outcome }) => spec.kind.schedule === wanted && outcome instanceof ExpectedError)?.outcome;
  throw refusal instanceof ExpectedError ? refusal : nothingToPlan(request);
}

/** Predicts each candidate once, however often it is asked for. */
function predictedOnce(
  pipeline: Pipeline,
  signal: CancelSignal | undefined,
): (specs: readonly CandidateSpec[], onProgress?: (fraction: number) => void) => readonly Outcome[] {
  const known = new Map<CandidateId, Outcome>();
  return (specs, onProgress) => {
    const others = specs.filter(({ id }) => !known.has(id));
    for (const outcome of predictAll(pipeline, others, { signal, ...(onProgress === undefined ? {} : { onProgress }) }))
      known.set(outcome.spec.id, outcome);
    return specs.flatMap(({ id }) => known.get(id) ?? []);
  };
}

function predictedCandidates(outcomes: readonly Outcome[]): readonly Candidate[] {
  return outcomes.flatMap(({ outcome }) => (outcome === null || outcome instanceof ExpectedError ? [] : [outcome]));
}

/** What a plan is made of. */
interface Planned {
  readonly request: PlanRequest;
  readonly pipeline: Pipeline;
  /** An earlier plan of some of the candidates. */
  readonly first?: Plan | undefined;
  readonly candidates: readonly Candidate[];
  readonly skipped: readonly ScheduleName[];
  readonly analytic?: AnalyticPlan | null;
  readonly over?: OverLengths | null;
  readonly isCompared: boolean;
  readonly drawnOperations: number;
  readonly signal: CancelSignal | undefined;
}

/** The plan of some candidates; undefined where none of them may be chosen. */
function assemblePlan({
  request,
  pipeline,
  first,
  candidates,
  skipped,
  analytic = null,
  over = null,
  isCompared,
  drawnOperations,
  signal,
}: Planned): Plan | undefined {
  const chosen = choose(request, candidates);
  if (chosen === undefined) return undefined;
  const planned = withVirtualStages(request, chosen);
  // it simulates, and an earlier plan mostly chooses the same
  const cost = first?.chosen === chosen.id ? first.cost : coveringAssumed(costProvenance(request, pipeline), planned, chosen, signal);
  return {
    request: planned,
    chosen: chosen.id,
    candidates: drawnWithin(inOrder(candidates, chosen, request), chosen.id, drawnOperations),
    notCompared: skipped,
    cost,
    analytic,
    limits: chosenLimits(request, pipeline, chosen),
    partsByStage: chosenParts(request, pipeline, chosen),
    ...(over === null ? {} : { overLengths: over }),
    reasons: isCompared
      ? [
          ...(request.training.adapter === undefined
            ? []
            : [sentence`MFU counts forward, gradients of inputs and the adapters: frozen weights have no gradients`]),
          ...(over === null ? [] : lengthReasons(over)),
          ...planReasons({ request, pipeline, candidates, chosen, skipped, analytic, cost }, signal),
        ]
      : [],
    parameters: parameterCount(request.model),
  };
}

/** The chosen candidate, then those that fit, then those that do not: of each, what the runtime runs comes first, then the fastest. */
function inOrder(candidates: readonly Candidate[], chosen: Candidate, request: PlanRequest): readonly Candidate[] {
  const rank = (candidate: Candidate): number =>
    candidate === chosen ? 0 : (candidate.fits ? 1 : 3) + (isRun(candidate.schedule, request) ? 0 : 1);
  return candidates.toSorted((a, b) => rank(a) - rank(b) || a.iterationMs - b.iterationMs);
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

/** What the analytic model would have planned, so that a plan from a profile can show how it differs; null without a profile. */
function analyticPlan(request: PlanRequest, signal: CancelSignal | undefined): AnalyticPlan | null {
  if (request.profile === null) return null;
  const plan = makePlan({ ...request, profile: null }, { signal, isCompared: false });
  const { id, name, scheme, iterationMs } = chosenCandidate(plan);
  return { id, name, scheme, iterationMs };
}
