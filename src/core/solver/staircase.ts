import { throwIfCancelled, type CancelSignal } from '../errors';
import type { SliceTimes } from './slice-times';
import { chunkScratch, composeBatch, smallestChunkThreshold, solveChunk, type BatchOptimum, type ChunkOptimum } from './threshold';

export interface ProofOptions {
  readonly signal: CancelSignal | undefined;
  readonly maximumEvaluations: number;
  readonly onProgress: (fraction: number) => void;
}

export interface Proof {
  /** A cheapest scheme under this threshold is the best found, ms. `Infinity` with `lowerBoundMs` infinite: there is no scheme. */
  readonly thresholdMs: number;
  readonly lowerBoundMs: number;
  readonly exact: boolean;
  readonly evaluations: number;
}

/**
 * One solved threshold t: S(t) of eq. 7 for the whole batch and what it was composed of. S is the same for every threshold from `slowestMs` to t, because the
 * plan found keeps to both; so a solved threshold is a whole step of the staircase.
 */
interface Step {
  readonly totalMs: number;
  readonly slowestMs: number;
  readonly thresholdMs: number;
  /** Per batch size the best chunk; `Infinity` where no better plan uses that size. */
  readonly chunkTotals: Float64Array;
  readonly chunkSlowest: Float64Array;
  readonly batch: BatchOptimum;
}

/** Slice times `first` to `last - 1` (indices into the ascending distinct times) as unsolved thresholds between two solved steps. */
interface Interval {
  readonly first: number;
  readonly last: number;
  readonly below: Step;
  readonly above: Step;
  readonly boundMs: number;
}

/** Relative slack within which sums of ms count as equal: rounding of a few thousand additions. */
const roundingSlack = 1e-12;
/** Evaluations spent halving intervals, to find good plans, before intervals are cleared from the top. */
const halvingEvaluations = 24;

/**
 * Finds the threshold of an optimal plan and proves it optimal. Between solved thresholds lo < hi every plan costs at least S(hi) + (stages - 1) * (the smallest
 * slice time above lo): S never grows with the threshold. Intervals whose bound reaches the best plan fall away as a whole, the others are split at a solved
 * threshold; best bound first, so running out of evaluations still leaves a true lower bound.
 * @param startMs a threshold under which good plans are likely, such as the slowest slice of the best uniform cut.
 * @throws CancelledError
 */
export function proveOptimum(times: SliceTimes, stages: number, startMs: number, options: ProofOptions): Proof {
  const later = stages - 1;
  const solver = thresholdSolver(times, options.signal);
  const top = solver.solve(Infinity, null);
  if (top.totalMs === Infinity) return { thresholdMs: Infinity, lowerBoundMs: Infinity, exact: true, evaluations: 1 };
  let bestMs = Infinity;
  let thresholdMs = Infinity;
  const offer = (step: Step): void => {
    const latencyMs = step.totalMs + later * step.slowestMs;
    if (latencyMs >= bestMs) return;
    bestMs = latencyMs;
    thresholdMs = step.slowestMs;
  };
  offer(top);
  const proved = (): Proof => ({ thresholdMs, lowerBoundMs: bestMs, exact: true, evaluations: solver.evaluations() });
  const leastMs = smallestThreshold(times, options.signal);
  if (later === 0 || leastMs >= top.slowestMs) return proved();

  const bottom = solver.solve(leastMs, null);
  const start = startMs > leastMs && startMs < top.slowestMs ? solver.solve(startMs, null) : bottom;
  offer(bottom);
  offer(start);
  const uselessFromMs = (above: Step): number => (bestMs * (1 - roundingSlack) - above.totalMs) / later;
  const values = distinctTimes(times, bottom.thresholdMs, Math.min(uselessFromMs(top), top.slowestMs), options.signal);
  const open: Interval[] = [];
  const push = (first: number, last: number, below: Step, above: Step): void => {
    if (first >= last || above.totalMs >= below.totalMs) return;
    open.push({ first, last, below, above, boundMs: above.totalMs + later * (values[first] ?? Infinity) });
  };
  push(0, rankOf(values, start.slowestMs), bottom, start);
  push(rankAbove(values, start.thresholdMs), values.length, start, top);
  const startGapMs = bestMs - Math.min(bestMs, ...open.map((interval) => interval.boundMs));

  for (let interval = takeLowest(open); interval !== undefined; interval = takeLowest(open)) {
    const { first, below, above, boundMs } = interval;
    const last = Math.min(interval.last, rankOf(values, uselessFromMs(above)));
    if (first >= last) continue;
    if (solver.evaluations() >= options.maximumEvaluations)
      return { thresholdMs, lowerBoundMs: Math.min(bestMs, boundMs), exact: false, evaluations: solver.evaluations() };
    options.onProgress(1 - Math.max(0, bestMs - boundMs) / startGapMs);
    const pivot = solver.evaluations() < halvingEvaluations ? (first + last - 1) >> 1 : last - 1;
    const step = solver.solve(values[pivot] ?? Infinity, { below, above, spareMs: bestMs - later * (values[first] ?? 0) });
    offer(step);
    push(pivot + 1, last, step, above);
    push(first, rankOf(values, step.slowestMs), below, step);
  }
  return proved();
}

/** Where a threshold lies: between two solved steps, and how much the slices of a plan better than the best one may add up to, ms. */
interface Surroundings {
  readonly below: Step;
  readonly above: Step;
  readonly spareMs: number;
}

interface ThresholdSolver {
  readonly solve: (thresholdMs: number, between: Surroundings | null) => Step;
  readonly evaluations: () => number;
}

function thresholdSolver({ batch, units, columns }: SliceTimes, signal: CancelSignal | undefined): ThresholdSolver {
  const scratch = chunkScratch(units);
  let evaluations = 0;
  const solve = (thresholdMs: number, between: Surroundings | null): Step => {
    evaluations++;
    const chunkTotals = new Float64Array(columns.length);
    const chunkSlowest = new Float64Array(columns.length);
    columns.forEach((column, index) => {
      throwIfCancelled(signal);
      const known = between === null ? null : knownChunk(between, batch, index);
      const chunk = known ?? solveChunk(column, units, thresholdMs, scratch);
      chunkTotals[index] = chunk.totalMs;
      chunkSlowest[index] = chunk.slowestMs;
    });
    const composed = composeBatch(batch, chunkTotals, chunkSlowest);
    return {
      totalMs: composed.totals[batch] ?? Infinity,
      slowestMs: composed.slowestMs,
      thresholdMs,
      chunkTotals,
      chunkSlowest,
      batch: composed,
    };
  };
  return { solve, evaluations: () => evaluations };
}

/**
 * What the steps around a threshold already say about chunks of `index + 1` sequences: the same optimum on both sides, or that no better plan has such a chunk
 * because smaller chunks are no dearer or because even the cheapest rest makes it too dear. Null: to be solved.
 */
function knownChunk({ below, above, spareMs }: Surroundings, batch: number, index: number): ChunkOptimum | null {
  const size = index + 1;
  const leastMs = above.chunkTotals[index] ?? Infinity;
  if (leastMs === below.chunkTotals[index]) return { totalMs: leastMs, slowestMs: below.chunkSlowest[index] ?? 0 };
  const dominated = leastMs >= (below.batch.composed[size] ?? Infinity);
  const tooDear = leastMs + (above.batch.totals[batch - size] ?? Infinity) >= spareMs;
  return dominated || tooDear ? { totalMs: Infinity, slowestMs: 0 } : null;
}

/** Smallest threshold that any plan keeps to: the whole batch is as demanding as its least demanding divisor, one sequence or more at a time. */
function smallestThreshold({ batch, units, columns }: SliceTimes, signal: CancelSignal | undefined): number {
  const needed = new Float64Array(batch + 1).fill(Infinity);
  needed[0] = 0;
  columns.forEach((column, index) => {
    throwIfCancelled(signal);
    const chunkMs = smallestChunkThreshold(column, units);
    for (let sequences = index + 1; sequences <= batch; sequences++)
      needed[sequences] = Math.min(needed[sequences] ?? Infinity, Math.max(needed[sequences - index - 1] ?? Infinity, chunkMs));
  });
  return needed[batch] ?? Infinity;
}

/** Times sorted at once: some 20 ms of work between two looks at the signal. */
const bucketSize = 2 ** 17;

/** Distinct slice times above `low` and below `high`, ascending. Sorted bucket by bucket, so that a cancelled search does not first sort millions. */
function distinctTimes({ columns }: SliceTimes, low: number, high: number, signal: CancelSignal | undefined): Float64Array {
  let count = 0;
  for (const column of columns) {
    throwIfCancelled(signal);
    for (const ms of column) if (ms > low && ms < high) count++;
  }
  const buckets = Math.ceil(count / bucketSize);
  const bucketOf = (ms: number): number => Math.min(buckets - 1, Math.floor(((ms - low) / (high - low)) * buckets));
  const ends = new Uint32Array(buckets + 1);
  for (const column of columns) {
    throwIfCancelled(signal);
    for (const ms of column) if (ms > low && ms < high) ends[bucketOf(ms) + 1] = (ends[bucketOf(ms) + 1] ?? 0) + 1;
  }
  for (let bucket = 0; bucket < buckets; bucket++) ends[bucket + 1] = (ends[bucket + 1] ?? 0) + (ends[bucket] ?? 0);
  const values = new Float64Array(count);
  const filled = ends.slice(0, buckets);
  for (const column of columns) {
    throwIfCancelled(signal);
    for (const ms of column) {
      if (ms <= low || ms >= high) continue;
      const bucket = bucketOf(ms);
      values[filled[bucket] ?? 0] = ms;
      filled[bucket] = (filled[bucket] ?? 0) + 1;
    }
  }
  let kept = 0;
  for (let bucket = 0; bucket < buckets; bucket++) {
    throwIfCancelled(signal);
    for (const ms of values.subarray(ends[bucket], ends[bucket + 1]).sort()) if (kept === 0 || ms !== values[kept - 1]) values[kept++] = ms;
  }
  return values.subarray(0, kept);
}

/** Number of values below `value`. */
function rankOf(values: Float64Array, value: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((values[middle] ?? Infinity) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Number of values up to and including `value`. */
function rankAbove(values: Float64Array, value: number): number {
  const rank = rankOf(values, value);
  return values[rank] === value ? rank + 1 : rank;
}

function takeLowest(intervals: Interval[]): Interval | undefined {
  let lowest = 0;
  for (let index = 1; index < intervals.length; index++)
    if ((intervals[index]?.boundMs ?? Infinity) < (intervals[lowest]?.boundMs ?? Infinity)) lowest = index;
  return intervals.splice(lowest, 1)[0];
}
