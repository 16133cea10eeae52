import type { CancelSignal } from '../errors';
import { composeBatch, kindsUsed } from './batch-program';
import { thresholdBounds, type SearchProblem } from './lower-bounds';
import { pruneScratch, wantedSlices } from './prune';
import { graphRows, type SliceRows } from './slice-rows';
import { stepSolver, type Step, type StepSolver } from './steps';
import { cheapestSuffixes } from './token-program';
import { distinctPeaks, rankAbove, valueRank } from './values';
import { minimum } from '../numbers';

export interface SearchOptions {
  readonly signal: CancelSignal | undefined;
  readonly maximumEvaluations: number;
  /** Gap to the bound, as a share of the best, at which to stop; 0: only when proved. */
  readonly tolerance: number;
  /** Called when the best or the bound has moved. */
  readonly onMove: (best: FoundScheme | null, boundMs: number) => void;
}

/** A plan: chunks of this many sequences, cut at these units. */
export interface FoundScheme {
  readonly chunks: readonly { readonly sequences: number; readonly ends: Uint32Array }[];
  readonly objectiveMs: number;
  readonly totalMs: number;
  readonly slowestMs: number;
  readonly slices: number;
}

interface SearchResult {
  /** Null: no plan is as fast as the cap. */
  readonly best: FoundScheme | null;
  /** No plan is faster, ms. */
  readonly boundMs: number;
  readonly exact: boolean;
  readonly evaluations: number;
}

/**
 * Thresholds above `lowMs` and below `highMs`, both excluded; the upper one is solved, or bounded from below: every plan whose slowest
 * slice lies there sums up to at least `above.totalMs`.
 */
interface Interval {
  readonly lowMs: number;
  readonly highMs: number;
  readonly below: Step | null;
  readonly above: Step;
  readonly boundMs: number;
}

/** Relative slack within which sums of ms count as equal: rounding of a few thousand additions. */
export const roundingSlack = 1e-12;
/** Evaluations spent halving intervals, to find good plans, before intervals are cleared from the top. */
const halvingEvaluations = 30;
/** An interval is solved where a bound clears at least this share of it from the top. */
const peelShare = 0.25;
/** Slices in the window up to which their distinct times are sorted; thresholds are halved by value till then. */
const sortedSlices = 2 ** 11;
/** Prune again when what may be gained has fallen to this share. */
const pruneShare = 0.5;
/** Evaluations between prunings, for short and for long sequences. */
const pruneEvery = [40, 3] as const;
/** Units from which a sequence counts as long. */
const longUnits = 1024;
/** Lower bounds asked for to clear one interval from the top, each far quicker than a threshold of a long sequence. */
const mostPeels = 256;
/** Slices visited before settling for the best so far: some seconds on one core. */
const mostVisits = 4e9;
/** Thresholds that are still open, and the sum within which a plan may still be better, ms. */
interface OpenMs {
  readonly aboveMs: number;
  readonly limitMs: number;
  readonly withinMs: number;
}

/**
 * Drops the slices of a chunk of `size` sequences that no better plan can hold. `totals`: what the batch takes at least by its number of
 * sequences. Null: no plan has such a chunk.
 */
function createPruner({ sequences, weight }: SearchProblem, { scratch }: StepSolver, signal: CancelSignal | undefined) {
  const columns = pruneScratch();
  return (rows: SliceRows, size: number, { aboveMs, limitMs, withinMs }: OpenMs, totals: Float64Array): SliceRows | null => {
    const leftMs = withinMs - (totals[sequences - size] ?? Infinity);
    cheapestSuffixes(rows, limitMs, scratch, signal, leftMs - weight * aboveMs);
    const graph = wantedSlices(rows, scratch.totals, { aboveMs, limitMs, withinMs: leftMs, weight }, columns, signal);
    return graph === null ? null : graphRows(size, graph);
  };
}

/**
 * Finds an optimal plan and proves it optimal. Between solved thresholds lo < hi every plan costs at least S(hi) + weight * (the smallest
 * slice time above lo): S never grows with the threshold. Intervals whose bound exceeds the best plan fall away as a whole, the others are
 * split at a solved threshold; best bound first, so stopping early still leaves a true lower bound. As the window closes, slices that no
 * better plan can hold are dropped, and the program runs on the few that are left.
 * @throws CancelledError
 */
export function searchThresholds(problem: SearchProblem, options: SearchOptions): SearchResult {
  const { sequences, weight } = problem;
  const { signal } = options;
  const sizes = problem.kinds.map((rows) => rows.sequences);
  const solver = stepSolver(problem.kinds, sequences, signal);
  let evaluations = 0;
  let capMs = problem.capMs;
  let best: FoundScheme | null = null;
  const within = (): number => capMs * (1 + roundingSlack);
  const solve: StepSolver['solve'] = (limitMs, between) => {
    evaluations++;
    const step = solver.solve(limitMs, between);
    const objectiveMs = step.totalMs + weight * step.slowestMs;
    if (step.totalMs === Infinity || objectiveMs > within()) return step;
    const slices = step.batch.counts[sequences] ?? 0;
    if (best !== null && objectiveMs >= best.objectiveMs * (1 - roundingSlack) && slices >= best.slices) return step;
    best = { ...toFoundScheme(step, sequences, sizes), objectiveMs, slices };
    capMs = Math.min(capMs, objectiveMs);
    return step;
  };
  const done = (boundMs: number, exact: boolean): SearchResult => ({ best, boundMs, exact, evaluations });
  const uselessAbove = (above: Step): number => (within() - above.totalMs) / weight;
  const pruned = createPruner(problem, solver, signal);

  const bounds = thresholdBounds(problem, within());
  solver.kinds = solver.kinds.map((rows, kind) => (bounds.useful[kind] === true ? rows : null));
  const lowerBound = solver.lowerBound(bounds.highMs);
  let top = lowerBound;
  let highMs = bounds.highMs * (1 + 2 * Number.EPSILON);
  if (weight === 0 || !bounds.close) {
    for (let limitMs = bounds.highMs; ;) {
      const step = solve(limitMs, { below: null, above: top, spareMs: within() });
      if (step.totalMs === Infinity || weight === 0) return done(capMs, true);
      top = step;
      highMs = top.slowestMs;
      if (uselessAbove(top) >= 0.8 * highMs) break;
      limitMs = uselessAbove(top);
    }
  }

  const open: Interval[] = [];
  let values: Float64Array | null = null;
  const stepBound = (lowMs: number, highMs: number, above: Step): number => {
    if (values === null) return above.totalMs + weight * Math.max(0, lowMs);
    const next = values[rankAbove(values, lowMs)] ?? Infinity;
    return next < highMs ? above.totalMs + weight * next : Infinity;
  };
  const push = (lowMs: number, highMs: number, below: Step | null, above: Step): void => {
    if (lowMs >= highMs || (below !== null && above.totalMs >= below.totalMs)) return;
    const boundMs = stepBound(lowMs, highMs, above);
    if (boundMs <= within()) open.push({ lowMs, highMs, below, above, boundMs });
  };
  const prune = (): void => {
    const lowMs = minimum(open.map((interval) => interval.lowMs));
    const highest = open.reduce((a, b) => (b.highMs > a.highMs ? b : a));
    const limitMs = Math.min(highest.highMs, uselessAbove(highest.above));
    const { totals } = composeBatch(sequences, sizes, highest.above.cuts);
    const betweenMs = { aboveMs: Math.max(0, lowMs), limitMs, withinMs: within() };
    solver.kinds = solver.kinds.map((rows, kind) => (rows === null ? null : pruned(rows, sizes[kind] ?? 1, betweenMs, totals)));
    values = distinctPeaks(solver.kinds, lowMs, highest.highMs, sortedSlices, signal);
    for (const { lowMs: low, highMs: high, below, above } of open.splice(0)) push(low, high, below, above);
  };

  if (problem.hintMs > bounds.lowMs && problem.hintMs < highMs) {
    const hinted = solve(problem.hintMs, { below: null, above: top, spareMs: within() - weight * Math.max(0, bounds.lowMs) });
    if (hinted.totalMs < Infinity) push(bounds.lowMs, hinted.slowestMs, null, hinted);
    push(hinted.limitMs, highMs, hinted, top);
  } else push(bounds.lowMs, highMs, null, top);
  const pruneAfter = pruneEvery[solver.scratch.totals.length > longUnits ? 1 : 0];
  // Rows of a table are read in full until they are pruned, so prune at once where no floors are known.
  let dueAfter = bounds.close ? pruneAfter : 0;
  // Nothing but a tie can be left in an interval, and no tie of fewer slices.
  const onlyTies = (boundMs: number, above: Step): boolean =>
    best !== null && boundMs >= best.objectiveMs * (1 - roundingSlack) && best.slices <= (above.batch.counts[sequences] ?? 0);
  let [prunedAtGap, sincePruned] = [Infinity, 0];
  for (let lowest = takeLowest(open); lowest !== undefined; lowest = takeLowest(open)) {
    const interval = bounds.close ? peeled(lowest, solver, uselessAbove) : lowest;
    if (interval === null) continue;
    const { lowMs, highMs, below, above, boundMs } = interval;
    const gapMs = capMs - Math.min(capMs, boundMs);
    const limitMs = Math.min(highMs, uselessAbove(above));
    if (stepBound(lowMs, highMs, above) > within() || limitMs <= lowMs || onlyTies(boundMs, above)) continue;
    options.onMove(best, Math.min(capMs, boundMs));
    if (evaluations >= options.maximumEvaluations || solver.scratch.visits > mostVisits || gapMs < options.tolerance * capMs)
      return done(Math.min(capMs, boundMs), false);
    if (sincePruned >= dueAfter && gapMs <= pruneShare * prunedAtGap) {
      open.push({ ...interval, highMs });
      prune();
      prunedAtGap = gapMs;
      dueAfter = pruneAfter;
      sincePruned = 0;
      continue;
    }
    const halve = evaluations < halvingEvaluations && evaluations % 2 === 0 && highMs - limitMs < peelShare * (highMs - Math.max(0, lowMs));
    const pivotMs = choosePivot(values, lowMs, highMs, uselessAbove(above), halve);
    if (pivotMs === null) continue;
    const spareMs = within() - weight * Math.max(0, lowMs);
    const step = solve(pivotMs, { below, above, spareMs });
    sincePruned++;
    push(pivotMs, highMs, step, above);
    if (step.totalMs < Infinity) push(lowMs, step.slowestMs, below, step);
  }
  options.onMove(best, capMs);
  return done(capMs, true);
}

/** The interval of a long sequence without the thresholds at its top that lower bounds rule out; null: none is left. */
function peeled(interval: Interval, solver: StepSolver, uselessAbove: (above: Step) => number): Interval | null {
  if (solver.scratch.totals.length <= longUnits) return interval;
  let { highMs, above } = interval;
  for (let left = mostPeels; left > 0; left--) {
    const limitMs = Math.min(highMs, uselessAbove(above));
    if (limitMs <= interval.lowMs) return null;
    const raised = solver.raised(above, limitMs);
    if (!(uselessAbove(raised) < limitMs)) break;
    highMs = limitMs * (1 + 2 * Number.EPSILON);
    above = raised;
  }
  return { ...interval, highMs, above };
}

/** A threshold inside the interval to solve next; null: no slice time lies there. */
function choosePivot(values: Float64Array | null, lowMs: number, highMs: number, uselessMs: number, halve: boolean): number | null {
  if (values === null) {
    const last = Math.min(highMs * (1 - Number.EPSILON), uselessMs);
    if (last <= lowMs) return null;
    return halve ? (Math.max(0, lowMs) + last) / 2 : last;
  }
  const first = rankAbove(values, lowMs);
  const last = Math.min(valueRank(values, highMs), rankAbove(values, uselessMs)) - 1;
  if (last < first) return null;
  return values[halve ? (first + last) >> 1 : last] ?? null;
}

function toFoundScheme(
  { batch, cuts, totalMs, slowestMs }: Step,
  sequences: number,
  sizes: readonly number[],
): Omit<FoundScheme, 'objectiveMs' | 'slices'> {
  const chunks = kindsUsed(batch, sequences, sizes).map((kind) => ({
    sequences: sizes[kind] ?? 1,
    ends: cuts[kind]?.ends ?? new Uint32Array(0),
  }));
  return { chunks, totalMs, slowestMs };
}

function takeLowest(intervals: Interval[]): Interval | undefined {
  let lowest = 0;
  for (let index = 1; index < intervals.length; index++)
    if ((intervals[index]?.boundMs ?? Infinity) < (intervals[lowest]?.boundMs ?? Infinity)) lowest = index;
  return intervals.splice(lowest, 1)[0];
}
