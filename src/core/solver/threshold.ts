import { throwIfCancelled, type CancelSignal } from '../errors';
import { rowOf, type SliceTimes } from './slice-times';
import type { BatchSlice, Scheme } from './slicing';

/** Cheapest cut of one chunk with no slice above a threshold (eq. 7): sum and slowest slice, ms. `Infinity`, 0 when there is none. */
export interface ChunkOptimum {
  readonly totalMs: number;
  readonly slowestMs: number;
}

const none: ChunkOptimum = { totalMs: Infinity, slowestMs: 0 };

/** Working memory of `solveChunk`, units + 1 entries each: for every prefix the cheapest sum, its number of slices and where its last slice starts. */
export interface ChunkScratch {
  readonly totals: Float64Array;
  readonly counts: Uint32Array;
  readonly from: Uint32Array;
}

/** Working memory for sequences of `units` units. */
export function chunkScratch(units: number): ChunkScratch {
  return { totals: new Float64Array(units + 1), counts: new Uint32Array(units + 1), from: new Uint32Array(units + 1) };
}

/**
 * Eq. 8, the token dynamic program of one batch size under one threshold, O(units^2): of the cheapest cuts one with the fewest slices, left in `scratch.from`.
 */
export function solveChunk(column: Float64Array, units: number, thresholdMs: number, { totals, counts, from }: ChunkScratch): ChunkOptimum {
  for (let end = 1, index = 0; end <= units; end++) {
    let best = Infinity;
    let bestCount = 0;
    let bestStart = 0;
    for (let start = 0; start < end; start++, index++) {
      const ms = column[index] ?? 0;
      if (ms > thresholdMs) continue;
      const total = (totals[start] ?? 0) + ms;
      if (total > best) continue;
      const count = (counts[start] ?? 0) + 1;
      if (total === best && count >= bestCount) continue;
      best = total;
      bestCount = count;
      bestStart = start;
    }
    totals[end] = best;
    counts[end] = bestCount;
    from[end] = bestStart;
  }
  const totalMs = totals[units] ?? Infinity;
  if (totalMs === Infinity) return none;
  let slowestMs = 0;
  for (let end = units; end > 0; end = from[end] ?? 0) slowestMs = Math.max(slowestMs, column[rowOf(end) + (from[end] ?? 0)] ?? 0);
  return { totalMs, slowestMs };
}

/** Smallest threshold under which the chunk can be cut at all, ms: the bottleneck version of eq. 8. */
export function smallestChunkThreshold(column: Float64Array, units: number): number {
  const bottleneck = new Float64Array(units + 1);
  for (let end = 1, index = 0; end <= units; end++) {
    let best = Infinity;
    for (let start = 0; start < end; start++, index++) best = Math.min(best, Math.max(bottleneck[start] ?? 0, column[index] ?? 0));
    bottleneck[end] = best;
  }
  return bottleneck[units] ?? Infinity;
}

/** Section 3.4: batches of 0..batch sequences composed of chunks, an unbounded knapsack. */
export interface BatchOptimum {
  /** Cheapest sum for n sequences, ms; batch + 1 entries. */
  readonly totals: Float64Array;
  /** The same without a chunk of all n at once. */
  readonly composed: Float64Array;
  /** Slowest slice of the plan behind `totals[batch]`, ms. */
  readonly slowestMs: number;
}

/** Composes the batch of `chunkTotals[b - 1]`, ms per chunk of b sequences with slowest slice `chunkSlowest[b - 1]`. O(batch x batch sizes). */
export function composeBatch(batch: number, chunkTotals: Float64Array, chunkSlowest: Float64Array): BatchOptimum {
  const totals = new Float64Array(batch + 1);
  const composed = new Float64Array(batch + 1).fill(Infinity);
  const last = new Uint32Array(batch + 1);
  for (let sequences = 1; sequences <= batch; sequences++) {
    let best = Infinity;
    for (let size = Math.min(sequences, chunkTotals.length); size >= 1; size--) {
      const total = (totals[sequences - size] ?? 0) + (chunkTotals[size - 1] ?? Infinity);
      if (size < sequences) composed[sequences] = Math.min(composed[sequences] ?? Infinity, total);
      if (total < best) {
        best = total;
        last[sequences] = size;
      }
    }
    totals[sequences] = best;
  }
  let slowestMs = 0;
  if ((totals[batch] ?? Infinity) < Infinity)
    for (let left = batch; left > 0; left -= last[left] ?? left) slowestMs = Math.max(slowestMs, chunkSlowest[(last[left] ?? 1) - 1] ?? 0);
  return { totals, composed, slowestMs };
}

/**
 * A cheapest scheme under one threshold, of those with equal sums one with the fewest slices; null when there is none.
 * @throws CancelledError
 */
export function schemeUnder(times: SliceTimes, thresholdMs: number, signal: CancelSignal | undefined): Scheme | null {
  const scratch = chunkScratch(times.units);
  const chunks = times.columns.flatMap((column, index) => {
    throwIfCancelled(signal);
    const { totalMs } = solveChunk(column, times.units, thresholdMs, scratch);
    return totalMs === Infinity ? [] : [{ totalMs, slice: { batch: index + 1, tokens: lengthsOf(times, scratch.from) } }];
  });
  const totals = new Float64Array(times.batch + 1);
  const counts = new Float64Array(times.batch + 1);
  const last: (BatchSlice | undefined)[] = [undefined];
  for (let sequences = 1; sequences <= times.batch; sequences++) {
    totals[sequences] = Infinity;
    for (const { totalMs, slice } of chunks) {
      if (slice.batch > sequences) continue;
      const before = sequences - slice.batch;
      const total = (totals[before] ?? 0) + totalMs;
      const count = (counts[before] ?? 0) + slice.tokens.length;
      const best = totals[sequences] ?? Infinity;
      if (total < best || (total === best && count < (counts[sequences] ?? 0))) {
        totals[sequences] = total;
        counts[sequences] = count;
        last[sequences] = slice;
      }
    }
  }
  const scheme: BatchSlice[] = [];
  for (let left = times.batch; left > 0;) {
    const slice = last[left];
    if (slice === undefined) return null;
    scheme.push(slice);
    left -= slice.batch;
  }
  return scheme.sort((a, b) => b.batch - a.batch);
}

/** Slice lengths in tokens of the cut that `solveChunk` left in `from`. */
function lengthsOf({ units, positions }: SliceTimes, from: Uint32Array): number[] {
  const tokens: number[] = [];
  for (let end = units; end > 0; end = from[end] ?? 0) tokens.push((positions[end] ?? 0) - (positions[from[end] ?? 0] ?? 0));
  return tokens.reverse();
}
