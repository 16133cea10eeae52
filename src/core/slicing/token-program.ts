import { throwIfCancelled, type CancelSignal } from '../errors';
import { emptyRow, rowsBetweenPolls, type SuffixCosts, type SliceGraph, type SliceRow, type SliceRows } from './slice-rows';

/** Cheapest cut of one chunk with no slice above a threshold (eq. 7). */
export interface ChunkSlices {
  /** Sum of the slices, ms; `Infinity` when there is no such cut, and then no slices either. */
  readonly totalMs: number;
  readonly slowestMs: number;
  readonly slices: number;
  /** Units at which slices end, ascending, the last one the end of the sequence. */
  readonly ends: Uint32Array;
}

/** No cut at all. */
export const noCut: ChunkSlices = { totalMs: Infinity, slowestMs: 0, slices: 0, ends: new Uint32Array(0) };

/** Working memory of the token program. */
export interface TokenScratch extends SuffixCosts {
  readonly row: SliceRow;
  /** Slices visited so far. */
  visits: number;
}

/** Columns of the token program of a sequence of `units` units, for one solve after the other. */
export function tokenScratch(units: number): TokenScratch {
  return {
    totals: new Float64Array(units + 1),
    counts: new Uint32Array(units + 1),
    next: new Uint32Array(units + 1),
    peaks: new Float64Array(units + 1),
    stops: new Uint32Array(units + 1),
    row: emptyRow(),
    visits: 0,
  };
}

/**
 * Eq. 8 from the end of the sequence: for every unit the cheapest cut of its suffix with no slice above `limitMs`, of equal ones one with
 * the fewest slices, left in `scratch.totals` and `scratch.next`; adds to `scratch.visits` one for each slice. Units through which no cut
 * of at most `withinMs` leads may be left out: their totals are `Infinity`.
 * @throws CancelledError
 */
export function cheapestSuffixes(
  rows: SliceRows,
  limitMs: number,
  scratch: TokenScratch,
  signal?: CancelSignal,
  withinMs = Infinity,
): void {
  if (rows.graph !== null) {
    scratch.visits += rows.graph.ms.length;
    suffixCostsInGraph(rows.graph, limitMs, scratch, signal);
    return;
  }
  if (rows.suffixCosts !== undefined) {
    scratch.visits += rows.suffixCosts(limitMs, withinMs, scratch, signal);
    return;
  }
  const { totals, counts, next, peaks, row } = scratch;
  const { units } = rows;
  totals[units] = 0;
  counts[units] = 0;
  for (let start = units - 1; start >= 0; start--) {
    if (start % rowsBetweenPolls === 0) throwIfCancelled(signal);
    rows.read(start, limitMs, row);
    scratch.visits += row.length;
    const best = cheapestInRow(row, start + 1, limitMs, totals, counts);
    totals[start] = Infinity;
    if (best < 0) continue;
    const end = start + 1 + best;
    totals[start] = (totals[end] ?? 0) + (row.ms[row.offset + best] ?? 0);
    counts[start] = (counts[end] ?? 0) + 1;
    next[start] = end;
    peaks[start] = row.peakMs[row.offset + best] ?? 0;
  }
}

/** Index of the first slice of the cheapest suffix; -1: none. */
function cheapestInRow(
  { ms, peakMs, offset, length }: SliceRow,
  end: number,
  limitMs: number,
  totals: Float64Array,
  counts: Uint32Array,
): number {
  let best = Infinity;
  let bestCount = 0;
  let found = -1;
  for (let index = 0; index < length; index++) {
    if ((peakMs[offset + index] ?? 0) > limitMs) continue;
    const total = (ms[offset + index] ?? 0) + (totals[end + index] ?? 0);
    if (total > best) continue;
    const count = counts[end + index] ?? 0;
    if (total === best && (count >= bestCount || total === Infinity)) continue;
    best = total;
    bestCount = count;
    found = index;
  }
  return best === Infinity ? -1 : found;
}

/** The same along columns. */
function suffixCostsInGraph(
  { rowStart, to, ms, peakMs }: SliceGraph,
  limitMs: number,
  { totals, counts, next, peaks }: SuffixCosts,
  signal: CancelSignal | undefined,
): void {
  const units = rowStart.length - 1;
  totals[units] = 0;
  counts[units] = 0;
  let index = rowStart[units] ?? 0;
  for (let start = units - 1; start >= 0; start--) {
    if (start % rowsBetweenPolls === 0) throwIfCancelled(signal);
    let best = Infinity;
    let bestCount = 0;
    let found = -1;
    const first = rowStart[start] ?? 0;
    for (index--; index >= first; index--) {
      if ((peakMs[index] ?? 0) > limitMs) continue;
      const end = to[index] ?? 0;
      const total = (ms[index] ?? 0) + (totals[end] ?? 0);
      if (total > best) continue;
      const count = counts[end] ?? 0;
      if (total === best && count >= bestCount) continue;
      best = total;
      bestCount = count;
      found = index;
    }
    index = first;
    totals[start] = best;
    if (best === Infinity) continue;
    counts[start] = bestCount + 1;
    next[start] = to[found] ?? 0;
    peaks[start] = peakMs[found] ?? 0;
  }
}

/** Solves one threshold: the cheapest cut of the whole sequence, `noCut` where it may take more than `withinMs`. */
export function cheapestCut(
  rows: SliceRows,
  limitMs: number,
  scratch: TokenScratch,
  signal?: CancelSignal,
  withinMs = Infinity,
): ChunkSlices {
  cheapestSuffixes(rows, limitMs, scratch, signal, withinMs);
  const { totals, counts, next, peaks } = scratch;
  const totalMs = totals[0] ?? Infinity;
  if (totalMs === Infinity || totalMs > withinMs) return noCut;
  const slices = counts[0] ?? 0;
  const ends = new Uint32Array(slices);
  let slowestMs = 0;
  for (let unit = 0, index = 0; unit < rows.units; unit = next[unit] ?? 0, index++) {
    slowestMs = Math.max(slowestMs, peaks[unit] ?? 0);
    ends[index] = next[unit] ?? 0;
  }
  return { totalMs, slowestMs, slices, ends };
}
