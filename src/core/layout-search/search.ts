import { throwIfCancelled, type CancelSignal } from '../errors';
import { scheduleOn } from '../schedules/on-layout';
import { createQueue } from '../queue';
import { paretoFront } from './best-first';
import { cutsFor } from './cuts';
import { nearlyFits, type Bound } from './bounds';
import { createEvaluator, type Evaluator, type Predicted } from './evaluate';
import type { MemoryFilter } from '../planner/predict/predict';
import type { SearchPoint } from './known';
import { hasOnlyFixedOrders, hasSliceBounds, searchPhases, type SchedulePhase } from './schedules';
import { candidateGroups, nothingToSearch, withSolvedSlices, type Skipping } from './space';
import { scheduleKey, sizesKey, type CandidateGroup } from './candidate-group';
import { createBoundErrors, createSearchBudget, finerUnitsGain, isDrained, type ResultsImproved } from './search-budget';
import { heldToMeasured, sameTime, type SearchProblem } from './search-problem';

/**
 * How far a search is. At its end each group was opened or ruled out, each layout of an opened one ruled out, simulated or skipped:
 * `families + considered` is `opened + bounded + overMemory + evaluated + tooLarge`.
 */
export interface SearchCounts {
  /** Candidate groups: layouts that differ only in the cut of the layers. */
  readonly families: number;
  /** Groups whose cuts were looked at. */
  readonly opened: number;
  /** Layouts with a chosen cut, in the groups that were opened. */
  readonly considered: number;
  /** Groups and layouts that a bound on time ruled out, and those that a bound on memory did. */
  readonly bounded: number;
  readonly overMemory: number;
  /** Predicted by simulation, whether they fit or not. */
  readonly evaluated: number;
  /** Skipped: too many operations to simulate, or too many orders to plan. */
  readonly tooLarge: number;
  /** Evaluated layouts whose order was planned for their times. */
  readonly planned: number;
}

/** What a search shows while it runs. */
export interface SearchProgress {
  readonly best: Predicted | null;
  /** No layout of the space is faster; 0 while schedules are still to come. */
  readonly lowerBoundMs: number;
  readonly phase: SchedulePhase;
  readonly counts: SearchCounts;
}

export interface SearchOptions {
  readonly signal?: CancelSignal | undefined;
  /** Called whenever a faster layout that fits is found, and now and then. */
  readonly onProgress?: ((progress: SearchProgress) => void) | undefined;
  /** Find the fastest layout only: no Pareto front, no others. */
  readonly bestOnly?: boolean;
  /**
   * `false`: the Pareto front and the fastest of schedules only as far as they may tie with the best (`sameTime`), and the fastest of fewer
   * sizes, where every layout is predicted by itself (`hasOnlyFixedOrders`). Elsewhere, and left out, all of them whole.
   */
  readonly tables?: boolean | undefined;
  /** Skip layouts that are not faster. */
  readonly belowMs?: number;
}

/** A layout that would be faster than the best but does not fit, with a bound on what it needs. */
export interface Excluded {
  readonly group: CandidateGroup;
  /** On its time and memory, for the group or for one cut. */
  readonly bound: Bound;
}

export interface SearchOutcome {
  readonly best: Predicted | null;
  /** Fitting layouts, fastest first; none is both slower and larger than another. */
  readonly paretoFront: readonly Predicted[];
  /** The fastest that fits of every schedule. */
  readonly perSchedule: ReadonlyMap<string, Predicted>;
  /** The fastest that fits for each of the fastest sizes of parallel groups, fastest first. */
  readonly perSizes: readonly Predicted[];
  /** Every one that fits and whose sequences are cut, fastest first. */
  readonly sliced: readonly Predicted[];
  /** Narrowly ruled out by memory: for each set of parallel sizes, the layout that might be fastest. */
  readonly excluded: readonly Excluded[];
  readonly lowerBoundMs: number;
  readonly counts: SearchCounts;
}

/** Sizes of parallel groups whose best is kept. */
export const keptSizes = 8;
/** The same without tables: of an answer that shows three next to the best. */
const keptSizesWithoutTables = 4;
/** The bound of a cut is below that of its group by no more than sums are rounded. */
const rounding = 1e-9;
/** Nodes between two polls of the signal: far below 50 ms of work. */
const nodesBetweenPolls = 4;
const nodesBetweenReports = 4096;
/**
 * Best-first search: groups by a lower bound on the time of any of their cuts, then cuts by their own bound, then prediction. It skips what
 * cannot enter the answer by its bounds (the fastest, the Pareto front of time and memory, the fastest of each schedule and of the fastest
 * sizes), so the answer equals that of predicting every layout.
 *
 * Schedules come in phases: TeraPipe, GPipe and 1F1B, then the others, those with slices solved for, and last those with planned orders,
 * because solving or planning one takes as long as predicting a hundred others. It plans those that may be the fastest, and a few more: the
 * best of such a schedule is the best of those it evaluated.
 * @throws ExpectedError `search-no-layout` when there is nothing to search; CancelledError.
 */
export function bestFirst(asked: SearchProblem, options: SearchOptions = {}, evaluator = createEvaluator(asked.request)): SearchOutcome {
  const problem = heldToMeasured(asked);
  const { signal, onProgress, bestOnly = false, tables = true, belowMs = Infinity } = options;
  const open = createQueue<CandidateGroup | SearchPoint>();
  const phases = searchPhases(problem);
  const kept = keeper(bestOnly ? 'best' : tables || !hasOnlyFixedOrders(phases) ? 'tables' : 'ties');
  const counts = { families: 0, opened: 0, considered: 0, bounded: 0, overMemory: 0, evaluated: 0, tooLarge: 0, planned: 0 };
  const bounds = new WeakMap<CandidateGroup, Bound>();
  const excluded = new Map<string, Excluded>();
  /** Least bound of the points that are left out. */
  let leftOutMs = Infinity;
  let phase: SchedulePhase = 'usual';
  /** All groups are in the queue. */
  let isWhole = false;
  const budget = createSearchBudget(evaluator, counts);
  const solvedFirst = new Set<string>();
  const boundErrors = createBoundErrors(evaluator, kept.perSchedule);

  const lowerBound = (): number => Math.min(kept.best()?.iterationMs ?? Infinity, open.least(), leftOutMs);
  const progress = (): void => onProgress?.({ best: kept.best(), lowerBoundMs: isWhole ? lowerBound() : 0, phase, counts: { ...counts } });
  const poll = polling(progress, signal);
  const ruledOut = (node: CandidateGroup, bound: Bound): boolean => {
    const usableBytes = evaluator.usableBytes(node);
    if (bound.peakBytes > usableBytes) {
      counts.overMemory++;
      if (!bestOnly && bound.peakBytes <= nearlyFits * usableBytes) noteExcluded(excluded, { group: node, bound });
      return true;
    }
    if (bound.iterationMs < belowMs && kept.mayImprove(node, bound, budget.wanted(node))) return false;
    counts.bounded++;
    return true;
  };
  const timed = timing(evaluator, excluded, bestOnly);
  const limitsFor = limiting(kept, budget, timed, options);
  const enter = (node: CandidateGroup, bound: Bound): void => {
    poll();
    if (ruledOut(node, bound)) return;
    bounds.set(node, bound);
    open.push(bound.iterationMs, node);
  };
  const cut = (group: CandidateGroup, { iterationMs }: Bound): void => {
    counts.opened++;
    const leastMs = iterationMs * (1 - rounding);
    for (const stageLayers of cutsFor(problem, group)) {
      const point = { ...group, stageLayers };
      if (point.solved === true && solvedFirst.has(pointKey(point))) continue;
      counts.considered++;
      enter(point, evaluator.pointBound(point, timed(point, leastMs)));
    }
  };
  const leaveOut = (point: SearchPoint, bound: Bound): void => {
    counts.tooLarge++;
    // only a bound below the least so far matters
    const closer = bound.iterationMs < leftOutMs && budget.isToBeBounded(point) ? evaluator.solvedBound(point) : bound;
    leftOutMs = Math.min(leftOutMs, closer.iterationMs);
  };
  const predict = (point: SearchPoint, bound: Bound): void => {
    throwIfCancelled(signal);
    const predicted = budget.affords(point) ? evaluator.evaluate(point, limitsFor(point, bound)) : 'too-large';
    if (predicted === 'too-large') leaveOut(point, bound);
    else if (predicted === 'bounded' || predicted === 'overMemory') counts[predicted]++;
    if (predicted === 'too-large' || predicted === 'bounded' || predicted === 'overMemory') return;
    counts.evaluated++;
    if (predicted === 'slower') return;
    if (predicted !== 'unmet' && solvedFirst.has(pointKey(point))) boundErrors.note(predicted);
    if (predicted === 'unmet' || !predicted.fits) {
      if (!bestOnly && predicted !== 'unmet') noteExcluded(excluded, { group: point, bound: predicted });
    } else if (kept.add(predicted)) progress();
  };
  const empty = (): void => {
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { entry } = next;
      const bound = bounds.get(entry);
      poll();
      if (bound === undefined || ruledOut(entry, bound)) continue;
      if (!('stageLayers' in entry)) cut(entry, bound);
      else if (boundErrors.isHopeless(entry, bound)) leaveOut(entry, bound);
      else if (budget.isToBeBounded(entry)) enter(entry, evaluator.solvedBound(entry));
      else predict(entry, bound);
    }
  };

  throwIfCancelled(signal);
  const skipping = createSkipping(evaluator, counts, poll);
  phases.forEach((part, index) => {
    phase = part.phase;
    if (index > 0) progress();
    // So that bounds are held against slices that were solved for from the first on.
    for (const point of phase === 'slices' ? fastestSliced(problem, kept.perSchedule) : []) {
      solvedFirst.add(pointKey(point));
      counts.considered++;
      const bound = evaluator.pointBound(point);
      if (!ruledOut(point, bound)) predict(point, bound);
    }
    for (const group of candidateGroups(part.problem, skipping)) {
      counts.families++;
      enter(group, evaluator.groupBound(group, timed(group, 0)));
    }
    isWhole = index === phases.length - 1;
    empty();
  });
  if (counts.families === 0) throw nothingToSearch(problem);
  progress();
  const tooLarge = [...excluded.values()].sort((a, b) => a.bound.iterationMs - b.bound.iterationMs);
  return { ...keptLayouts(kept), excluded: tooLarge, lowerBoundMs: lowerBound(), counts };
}

/**
 * What is wanted of a layout: where its memory is known before its times, whether both may still enter the answer. With slices always:
 * those near the best of their schedule are solved for in finer units.
 */
function limiting(
  kept: ReturnType<typeof keeper>,
  budget: ReturnType<typeof createSearchBudget>,
  timed: ReturnType<typeof timing>,
  options: SearchOptions,
) {
  return (point: SearchPoint, bound: Bound): Parameters<Evaluator['evaluate']>[1] => {
    const isWanted: MemoryFilter = ({ peakBytes, fits }) =>
      fits ? kept.mayImprove(point, { ...bound, peakBytes }, budget.wanted(point)) : timed(point, bound.iterationMs)(peakBytes);
    const belowMs = wantedBelowMs(kept, point, options);
    return { belowMs, isWanted: point.slices > 1 ? undefined : isWanted, signal: options.signal };
  };
}

/** A step that takes longer improves nothing, ms. Only where slices are solved for by the makespan: what else is found may save memory. */
function wantedBelowMs(
  kept: ReturnType<typeof keeper>,
  point: SearchPoint,
  { bestOnly = false, belowMs = Infinity }: SearchOptions,
): number {
  if (point.solved !== true || isDrained(point)) return Infinity;
  if (bestOnly) return Math.min(belowMs, kept.best()?.iterationMs ?? Infinity);
  return (1 + finerUnitsGain) * (kept.perSchedule.get(scheduleKey(point))?.iterationMs ?? Infinity);
}

function keptLayouts(kept: ReturnType<typeof keeper>): Pick<SearchOutcome, 'best' | 'paretoFront' | 'perSchedule' | 'perSizes' | 'sliced'> {
  return {
    best: kept.best(),
    paretoFront: kept.paretoFront(),
    perSchedule: kept.shownPerSchedule(),
    perSizes: kept.perSizes(),
    sliced: kept.sliced(),
  };
}

/** Looks now and then, by the number of calls, whether the search was cancelled, and reports its progress. */
function polling(progress: () => void, signal: CancelSignal | undefined): () => void {
  let nodes = 0;
  return () => {
    if (++nodes % nodesBetweenPolls === 0) throwIfCancelled(signal);
    if (nodes % nodesBetweenReports === 0) progress();
  };
}

/** The layouts whose equal slices are the fastest of a schedule, with slices solved for: of pipelines, as in the space. */
function fastestSliced({ request }: SearchProblem, perSchedule: ReadonlyMap<string, Predicted>): SearchPoint[] {
  return [...perSchedule.values()]
    .filter(({ point }) => point.layout.pipeline > 1 && point.slices > 1 && point.solved !== true)
    .filter(({ point }) => hasSliceBounds(scheduleOn(point.schedule, point.layout)))
    .map(({ point }) => withSolvedSlices(request, point));
}

/** Leaves out layouts that are far too large before their candidate groups are made. */
function createSkipping(evaluator: Evaluator, counts: { families: number; overMemory: number }, poll: () => void): Skipping {
  return {
    tooLarge: (group) => {
      poll();
      return evaluator.heldBytes(group) > nearlyFits * evaluator.usableBytes(group);
    },
    onSkipped: (groups) => {
      counts.families += groups;
      counts.overMemory += groups;
    },
  };
}

/** Whether it matters how fast a layout with a peak is: it fits, or may be the fastest of its sizes that does not. */
function timing(evaluator: Evaluator, excluded: ReadonlyMap<string, Excluded>, bestOnly: boolean) {
  return (node: CandidateGroup, leastMs: number) =>
    (peakBytes: number): boolean => {
      if (peakBytes <= evaluator.usableBytes(node)) return true;
      return !bestOnly && leastMs < (excluded.get(sizesKey(node))?.bound.iterationMs ?? Infinity);
    };
}

/** Keeps, for each sizes of parallel groups, the one that might be fastest. */
function noteExcluded(excluded: Map<string, Excluded>, one: Excluded): void {
  const key = sizesKey(one.group);
  const other = excluded.get(key);
  if (other === undefined || one.bound.iterationMs < other.bound.iterationMs) excluded.set(key, one);
}

/** Identifies a layout whole, of those of one search. */
function pointKey({ schedule, layout, training, stageLayers }: SearchPoint): string {
  return JSON.stringify([schedule, layout, training, stageLayers]);
}

/** Whether a is the better one of two of equal kind: faster, or as fast with less memory. */
function isBetter(a: Bound, b: Bound | undefined): boolean {
  return b === undefined || a.iterationMs < b.iterationMs || (a.iterationMs === b.iterationMs && a.peakBytes < b.peakBytes);
}

/**
 * The same of two predictions, of which the one with less context parallelism is better where they are equal: a ring that hides behind
 * attention costs nothing here, and replicas exchange nothing in a layer.
 */
function isPreferred(a: Predicted, b: Predicted | undefined): boolean {
  if (b === undefined || isBetter(a, b)) return true;
  const isEqual = a.iterationMs === b.iterationMs && a.peakBytes === b.peakBytes;
  return isEqual && a.point.layout.context < b.point.layout.context;
}

/** What has been found so far, and whether a bound could still add to it. */
function keeper(wants: 'best' | 'ties' | 'tables') {
  const front = paretoFront<Predicted>();
  const perSchedule = new Map<string, Predicted>();
  const bySizes = new Map<string, Predicted>();
  const sliced: Predicted[] = [];
  let best: Predicted | null = null;
  /** Time of the slowest of the kept sizes. */
  let slowestKeptMs = Infinity;
  const sizes = wants === 'ties' ? keptSizesWithoutTables : keptSizes;
  const ranked = (): Predicted[] => [...bySizes.values()].sort((a, b) => a.iterationMs - b.iterationMs).slice(0, sizes);
  const isShown = ({ iterationMs }: Bound): boolean => wants === 'tables' || iterationMs <= sameTime * (best?.iterationMs ?? Infinity);

  const mayImprove = (group: CandidateGroup, bound: Bound, wanted: ResultsImproved): boolean => {
    if (best === null || isBetter(bound, best)) return true;
    if (wants === 'best') return false;
    if (isShown(bound)) {
      const ofSchedule = perSchedule.get(scheduleKey(group));
      if (wanted === 'fastest') return ofSchedule === undefined;
      if (isBetter(bound, ofSchedule)) return true;
      if (wanted === 'schedule') return false;
      if (!front.dominates(bound)) return true;
    }
    return bound.iterationMs <= slowestKeptMs && isBetter(bound, bySizes.get(sizesKey(group)));
  };
  const add = (found: Predicted): boolean => {
    front.add(found);
    if (found.point.slices > 1) sliced.push(found);
    for (const [map, key] of [
      [perSchedule, scheduleKey(found.point)],
      [bySizes, sizesKey(found.point)],
    ] as const)
      if (isPreferred(found, map.get(key))) map.set(key, found);
    slowestKeptMs = ranked()[sizes - 1]?.iterationMs ?? Infinity;
    if (!isPreferred(found, best ?? undefined)) return false;
    best = found;
    return true;
  };
  const bySpeed = (): readonly Predicted[] => sliced.toSorted((a, b) => a.iterationMs - b.iterationMs);
  return {
    add,
    mayImprove,
    perSchedule,
    shownPerSchedule: (): ReadonlyMap<string, Predicted> => new Map([...perSchedule].filter(([, each]) => isShown(each))),
    sliced: bySpeed,
    paretoFront: (): readonly Predicted[] => front.entries().filter(isShown),
    perSizes: ranked,
    best: (): Predicted | null => best,
  };
}
