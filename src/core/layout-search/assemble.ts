import type { PlanRequest } from '../domain/request';
import type { Scheme } from '../domain/scheme';
import type { CostProvenance } from '../domain/slice-cost';
import { scheduleKind } from '../schedules/registry';
import { ExpectedError, throwIfCancelled, type CancelSignal } from '../errors';
import { solveSlicing } from '../slicing/solve';
import { costProvenance } from '../time-model/provenance';
import { namedSchedules } from '../domain/schedule-names';
import { keepsFree } from '../memory-model/search-margin';
import { shortestCut, type CutEffort } from '../planner/candidates/makespan-cut';
import { cutAlike } from '../planner/candidates/makespan-problem';
import { slicesGrow, slicingCost } from '../planner/candidates/terapipe-cost';
import { isRun } from '../schedules/runtimes';
import { coveringAssumed } from '../planner/explain/assumed';
import { sameMemory } from '../planner/explain/reasons';
import { scheduleOn } from '../schedules/on-layout';
import { toPlanRequest } from './request-of';
import { cutsFor } from './cuts';
import { createEvaluator, groupName, type Evaluator, type Predicted } from './evaluate';
import { keepingFree, heldToMeasured, measuredChoices, sameTime, type SearchProblem } from './search-problem';
import { usableGpuBytes } from './bounds';
import { createKnownBounds, groupMicroBatches, type SearchPoint } from './known';
import { isLaunched } from './own-point';
import { refusedSizes } from './refused-sizes';
import type { FoundPlan, KeptFreeAnswer, NotFitting, RunnerUp, SearchResult } from './result';
import { scheduleKey, sizesKey } from './candidate-group';
import { bestFirst, type Excluded, type SearchOutcome, type SearchOptions } from './search';
import { finerUnitsGain } from './search-budget';
import { givenScheme, sliceUnit } from './schedules';
import { searchedGpus } from './space';
import { layoutText, whyLost, whyTooLarge } from './labels';
import { sentence } from '../sentence';
import { minimum } from '../numbers';
import { createDescriber, type Describer } from './describe';
import { isRefused, ownLayout, ownPlans } from './own-plans';

type SearchLayoutsOptions = Omit<SearchOptions, 'bestOnly' | 'belowMs'>;

/** Most layouts that are listed as not fitting. */
const namedNotFitting = 3;

/**
 * The best layout for a problem, with the rest of the answer: the Pareto front of time and memory, the best of every schedule, the
 * runners-up and why they lost. Token slices are solved only for the best layouts of TeraPipe and Seq1F1B; elsewhere they are equal.
 * @throws ExpectedError `search-*`, `search-groups` for nodes of several kinds; CancelledError.
 */
export function searchLayouts(asked: SearchProblem, options: SearchLayoutsOptions = {}): SearchResult {
  const { groups } = asked.request.cluster;
  if (groups !== undefined)
    throw new ExpectedError(
      'search-groups',
      sentence`Layouts are searched on nodes of one kind, and cluster.groups has several`,
      sentence`plan without a search (groups get sizes, placement and cut), or search one group as the cluster`,
    );
  const whole = heldToMeasured(asked);
  const { problem, searched } = roomiestOrOffloaded(whole, options);
  const { found, evaluator } = searched;
  const share = searched.isKept ? (problem.keptFree?.share ?? 0) : 0;
  const leader = found.best ?? closest(problem, options);
  const details = createDescriber(problem, evaluator, options.signal);
  const equal = details.plan(leader.point);
  const cost = costProvenance(problem.request, evaluator.pipeline(leader.point));
  const own = ownPlans(whole, details, options.signal);
  const starts = (plan: FoundPlan): boolean => refusedSizes(problem.request, plan.point.layout) === null;
  const fitting = own.filter(
    (plan, index) => plan.fits && starts(plan) && (keepsFree(plan.verdict, share) || (index === 0 && isLaunched(problem))),
  );
  const ownMs = minimum(fitting.map(({ iterationMs }) => iterationMs));
  const sliced: readonly FoundPlan[] = [...found.perSchedule.values()].map((fastest) =>
    finelySolved(found, fastest)
      .map((each) => solved(details, problem, evaluator, each, options.signal))
      .reduce((best, plan) => (plan.iterationMs < best.iterationMs ? plan : best)),
  );
  const perSchedule = fitting.filter((plan) => !isRefused(problem, plan)).reduce(withOwn, sliced);
  const nearest = own.find((plan) => !isRefused(problem, plan) && plan.peakBytes < equal.peakBytes);
  const start = found.best === null && nearest !== undefined ? nearest : equal;
  const fastest = perSchedule.reduce((best, plan) => (!best.fits || plan.iterationMs < best.iterationMs ? plan : best), start);
  const front = toParetoFront([...(fastest.fits ? [fastest] : []), ...found.paretoFront.map(({ point }) => details.plan(point))]);
  const taken = fastest.fits ? bestOfTies([...front, ...perSchedule], fastest, problem.request) : fastest;
  const tied = (plan: FoundPlan): FoundPlan => ({ ...plan, tie: plan.iterationMs <= taken.iterationMs * (1 + cost.errorPercent / 100) });
  const best = tied(taken);
  return {
    request: problem.request,
    gpus: searchedGpus(problem),
    fixed: [...asked.fixed],
    measured: measuredLimits(asked),
    best,
    launched: own[0] === undefined || !isLaunched(problem) ? null : tied(own[0]),
    paretoFront: front.map(tied),
    perSchedule: perSchedule.map(tied).sort((a, b) => a.iterationMs - b.iterationMs),
    runnersUp: runnersUp(found, best, (point) => tied(details.plan(point))),
    notFitting: notFitting(problem, found.excluded, best, evaluator),
    improvements: [],
    keptFree: keptFreeIn(problem, searched, best),
    cost: statedCost(problem.request, best, cost, options.signal),
    lowerBoundMs: Math.min(found.best === null ? Infinity : found.lowerBoundMs, fastest.iterationMs, ownMs),
    proved: found.best !== null && found.lowerBoundMs >= found.best.iterationMs && fastest.iterationMs <= ownMs,
    counts: found.counts,
  };
}

interface Searched {
  readonly found: SearchOutcome;
  readonly evaluator: Evaluator;
  readonly isKept: boolean;
  /** Of the best that keeps memory free, where others are searched all the same. */
  readonly keptMs: number | null;
}

/**
 * A search of a problem. Where all schedules are asked for and nothing fits, what plans choose included, a second one tries the schedules
 * that keep activations in host memory.
 */
function roomiestOrOffloaded(
  problem: SearchProblem,
  options: SearchLayoutsOptions,
): { readonly problem: SearchProblem; readonly searched: Searched } {
  const searched = roomiest(problem, options);
  if (searched.found.best !== null || problem.schedules !== undefined || problem.fixed.has('schedule')) return { problem, searched };
  const keepingNone = problem.keptFree === undefined ? problem : { ...problem, keptFree: { ...problem.keptFree, share: 0 } };
  if (ownLayout(keepingNone, options.signal) !== null) return { problem, searched };
  const schedules = namedSchedules.filter((name) => scheduleKind(name).keepsOnHost === true);
  const offloading = { ...problem, schedules };
  const more = roomiest(offloading, options);
  if (more.found.best === null) return { problem, searched };
  const counts = { ...more.found.counts };
  for (const name of Object.keys(counts) as (keyof typeof counts)[]) counts[name] += searched.found.counts[name];
  return { problem: offloading, searched: { ...more, found: { ...more.found, counts } } };
}

/**
 * A search among layouts that keep free what the problem asks for; among all that fit where none does, or where one that does not is faster
 * than all of these by more than times are known.
 */
function roomiest(problem: SearchProblem, options: SearchLayoutsOptions): Searched {
  const known = createKnownBounds(problem.request);
  const searched = (on: SearchProblem, isKept: boolean, keptMs: number | null): Searched => {
    const evaluator = createEvaluator(on.request, known);
    return { found: bestFirst(on, options, evaluator), evaluator, isKept, keptMs };
  };
  const keeping = keepingFree(problem);
  const kept = searched(keeping, true, null);
  if (keeping === problem) return kept;
  const { best } = kept.found;
  if (best === null) return searched(problem, false, null);
  const { errorPercent } = costProvenance(keeping.request, kept.evaluator.pipeline(best.point));
  const belowMs = best.iterationMs / (1 + errorPercent / 100);
  if (kept.found.excluded.every(({ bound }) => bound.iterationMs >= belowMs)) return kept;
  const evaluator = createEvaluator(problem.request, known);
  const faster = bestFirst(problem, { signal: options.signal, bestOnly: true, belowMs }, evaluator).best;
  return faster === null || faster.iterationMs >= belowMs ? kept : searched(problem, false, best.iterationMs);
}

/** Whether the best of an answer keeps free what was asked for, and why it does not. */
function keptFreeIn({ keptFree }: SearchProblem, { isKept, keptMs }: Searched, best: FoundPlan): KeptFreeAnswer | null {
  if (keptFree === undefined || keptFree.share === 0) return null;
  if (keepsFree(best.verdict, keptFree.share)) return { ...keptFree, best: 'keeps' };
  if (isKept) return { ...keptFree, best: 'launched' };
  return { ...keptFree, best: 'tight', slowdown: keptMs === null ? null : keptMs / best.iterationMs };
}

/** Of plans that tie with the fastest: those that the runtime runs come first, then the one with the least memory, if that is worth it. */
function bestOfTies(plans: readonly FoundPlan[], fastest: FoundPlan, request: SearchProblem['request']): FoundPlan {
  const ties = plans.filter(({ iterationMs }) => iterationMs <= sameTime * fastest.iterationMs);
  const run = ties.filter(({ point }) => isRun(point.schedule, request));
  const among = run.length > 0 ? run : ties;
  const leastBytes = minimum(among.map(({ peakBytes }) => peakBytes));
  const [best = fastest] = among
    .filter(({ peakBytes }) => peakBytes <= sameMemory * leastBytes)
    .sort((a, b) => a.iterationMs - b.iterationMs);
  return best;
}

/** Fastest first, none both slower and larger than another. */
function toParetoFront(plans: readonly FoundPlan[]): FoundPlan[] {
  let least = Infinity;
  return plans
    .toSorted((a, b) => a.iterationMs - b.iterationMs || a.peakBytes - b.peakBytes)
    .filter(({ peakBytes }) => {
      const isSmaller = peakBytes < least;
      least = Math.min(least, peakBytes);
      return isSmaller;
    });
}

/** The plans with `own` in place of that of its schedule, where it is faster or there is none. */
function withOwn(plans: readonly FoundPlan[], own: FoundPlan): readonly FoundPlan[] {
  const rival = plans.find(({ point }) => scheduleKey(point) === scheduleKey(own.point));
  if (rival !== undefined && rival.iterationMs <= own.iterationMs) return plans;
  return [...plans.filter((plan) => plan !== rival), own];
}

/** The layout with the least memory, where none fits. */
function closest(problem: SearchProblem, { signal }: SearchOptions): { readonly point: SearchPoint } {
  const { cluster } = problem.request;
  const roomy = { ...cluster, gpu: { ...cluster.gpu, memoryBytes: Number.MAX_SAFE_INTEGER } };
  const { paretoFront } = bestFirst({ ...problem, request: { ...problem.request, cluster: roomy } }, { signal });
  const least = paretoFront.at(-1);
  if (least === undefined)
    throw new ExpectedError(
      'plan-too-large',
      sentence`Every layout has more operations in a step than a search simulates`,
      sentence`raise training.microBatch or lower training.globalBatch, or leave them open`,
    );
  return least;
}

/** Layouts of a schedule whose slices are solved for more finely, each the fastest of its sizes, at most. */
const finelySolvedAtMost = 4;

/** The fastest layout of a schedule, and those next to it whose sequences are cut: finer units may turn them round. */
function finelySolved({ sliced: all }: SearchOutcome, { point: best, iterationMs: bestMs }: Predicted): readonly SearchPoint[] {
  const points = new Map([[sizesKey(best), best]]);
  for (const { point, iterationMs } of all) {
    if (points.size === finelySolvedAtMost || iterationMs > (1 + finerUnitsGain) * bestMs) break;
    if (scheduleKey(point) === scheduleKey(best) && !points.has(sizesKey(point))) points.set(sizesKey(point), point);
  }
  return [...points.values()];
}

/** Slice times that the solver may tabulate, sequences it may join in a slice, and slice times it may look at: a fraction of a second. */
const mostUnits = 512;
const mostJoined = 4;
const visitBudget = 6e7;

/** A point of TeraPipe or Seq1F1B with slices by the dynamic program, where those are faster and still fit; any other as it is. */
function solved(details: Describer, problem: SearchProblem, evaluator: Evaluator, point: SearchPoint, signal?: CancelSignal): FoundPlan {
  const plan = details.plan(point);
  const { request } = problem;
  const batches = { microBatches: groupMicroBatches(point), microBatch: point.training.microBatch };
  if (!scheduleKind(point.schedule).sliced || givenScheme(request, batches) !== null) return plan;
  throwIfCancelled(signal);
  const tokens = request.training.sequenceLength;
  const asked = sliceUnit(tokens, request.slicing.unit);
  const unit = asked * Math.ceil(tokens / asked / mostUnits);
  const batch = groupMicroBatches(point) * point.training.microBatch;
  const maximumBatchSlice = Math.min(batch, mostJoined);
  const visits = (tokens / unit) ** 2 * (maximumBatchSlice / 2);
  const solution = solveSlicing(
    {
      batch,
      tokens,
      unit,
      maximumBatchSlice,
      stages: point.layout.pipeline,
      cost: slicingCost(evaluator.pipeline(point)),
      grows: slicesGrow(request),
      maximumEvaluations: Math.max(16, Math.floor(visitBudget / visits)),
    },
    { signal },
  );
  const own = cutForMakespan(problem, evaluator, plan, solution.scheme, signal);
  return [solution.scheme, ...(own === null ? [] : [own])]
    .map((scheme) => ({ ...details.plan(point, scheme), name: sentence`${point.schedule}, solved slices` }))
    .reduce((best, other) => (other.fits && other.iterationMs < best.iterationMs ? other : best), plan);
}

/** How long slices are looked for with the makespan of the best layout of a schedule: about half a second. */
const makespanEffort: CutEffort = { mostSteps: 3e7, mostOperations: 400_000, tolerance: 1e-3 };

/** The slices with which a schedule's own simulated pipeline ends first; null where it fills and drains, or none fits. */
function cutForMakespan(
  { request }: SearchProblem,
  evaluator: Evaluator,
  { point, scheme }: FoundPlan,
  solution: Scheme,
  signal?: CancelSignal,
): Scheme | null {
  const { training, layout } = point;
  const kind = scheduleOn(point.schedule, layout);
  if (kind.bound === 'drained') return null;
  const known = [scheme, solution].flatMap(([first]) => (first === undefined ? [] : [first.tokens]));
  const found = shortestCut({ ...request, training, layout }, evaluator.pipeline(point), kind, {
    effort: makespanEffort,
    known,
    signal,
  });
  const batches = { microBatches: groupMicroBatches(point), microBatch: training.microBatch };
  return found === null ? null : cutAlike(batches, found.lengths);
}

function runnersUp({ perSizes }: SearchOutcome, best: FoundPlan, describePoint: (point: SearchPoint) => FoundPlan): RunnerUp[] {
  return perSizes
    .filter(({ point }) => sizesKey(point) !== sizesKey(best.point))
    .map(({ point }) => {
      const plan = describePoint(point);
      return { plan, why: whyLost(plan, best) };
    });
}

/** The fastest that memory rules out, one for each sizes of parallel groups, by the bound of its best cut. */
function notFitting(problem: SearchProblem, excluded: readonly Excluded[], best: FoundPlan, evaluator: Evaluator): NotFitting[] {
  return excluded
    .flatMap(({ group }) => {
      const [first] = cutsFor(problem, group)
        .map((stageLayers) => ({ ...group, stageLayers }))
        .map((point) => ({ point, bound: evaluator.pointBound(point) }))
        .filter(({ bound }) => bound.iterationMs > 0) // far too large ones have no time
        .sort((a, b) => a.bound.iterationMs - b.bound.iterationMs);
      if (first === undefined) return [];
      const { point, bound } = first;
      // where the bound by itself would fit, what it was ruled out by
      const usableBytes = evaluator.usableBytes(point);
      const peakBytes = bound.peakBytes > usableBytes ? bound.peakBytes : predictedPeak(evaluator.evaluate(point));
      return peakBytes > usableBytes ? [{ family: group, bound: { ...bound, peakBytes } }] : [];
    })
    .filter(({ bound }) => bound.iterationMs < best.iterationMs)
    .sort((a, b) => a.bound.iterationMs - b.bound.iterationMs)
    .slice(0, namedNotFitting)
    .map(({ family: group, bound }) => ({
      layout: sentence`${layoutText(group)}, ${groupName(group)}`,
      iterationMs: bound.iterationMs,
      peakBytes: bound.peakBytes,
      why: whyTooLarge(bound, evaluator.usableBytes(group), usableGpuBytes(problem.request, group), best, problem),
    }));
}

/** 0 where that is not known. */
function predictedPeak(predicted: ReturnType<Evaluator['evaluate']>): number {
  return typeof predicted === 'string' ? 0 : predicted.peakBytes;
}

/** What measured times fix beyond the files. */
function measuredLimits({ request, fixed }: SearchProblem): SearchResult['measured'] {
  const measured = measuredChoices(request);
  return measured === null ? null : { ...measured, keys: measured.keys.filter((key) => !fixed.has(key)) };
}

/** The error bars of a layout, whose range covers what is assumed, too, as a plan of it states them. */
function statedCost(request: PlanRequest, found: FoundPlan, cost: CostProvenance, signal: CancelSignal | undefined): CostProvenance {
  const { scheme, iterationMs } = found;
  return coveringAssumed(cost, toPlanRequest(request, found), { schedule: found.point.schedule, scheme, iterationMs }, signal);
}
