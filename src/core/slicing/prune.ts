import { throwIfCancelled, type CancelSignal } from '../errors';
import { emptyRow, rowsBetweenPolls, type SliceGraph, type SliceRow, type SliceRows } from './slice-rows';

/** Limits of the plans that pruning keeps. */
interface PlanLimits {
  /** Its slowest slice lies above `aboveMs` and not above `limitMs`. */
  readonly aboveMs: number;
  readonly limitMs: number;
  /** Sum of its slices in this chunk and `weight` times its slowest slice stay within this, ms. */
  readonly withinMs: number;
  readonly weight: number;
}

/** Working memory of `wantedSlices`: columns that grow as they are filled, used again and again. */
interface PruneScratch {
  to: Uint32Array;
  ms: Float64Array;
  peakMs: Float64Array;
  count: number;
}

/** Working memory that grows as it is used, for one solve after the other. */
export function pruneScratch(): PruneScratch {
  return { to: new Uint32Array(0), ms: new Float64Array(0), peakMs: new Float64Array(0), count: 0 };
}

/** Entries of the working memory at first. */
const firstEntries = 4096;

function reserve(columns: PruneScratch, more: number): void {
  const needed = columns.count + more;
  if (needed <= columns.to.length) return;
  const length = Math.max(needed, firstEntries, Math.ceil(1.5 * columns.to.length));
  columns.to = grown(columns.to, new Uint32Array(length));
  columns.ms = grown(columns.ms, new Float64Array(length));
}

function grown<T extends Uint32Array | Float64Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

/**
 * The slices that a wanted plan can hold: those whose cheapest way from the start of the sequence, through them, to its end stays within
 * bounds. Null: none.
 * @param suffixCosts for every unit the cheapest suffix with no slice above the limit, as `cheapestSuffixes` leaves it.
 * @throws CancelledError
 */
export function wantedSlices(
  rows: SliceRows,
  suffixCosts: Float64Array,
  wanted: PlanLimits,
  columns: PruneScratch,
  signal: CancelSignal | undefined,
): SliceGraph | null {
  const { units } = rows;
  const heads = new Float64Array(units + 1).fill(Infinity);
  heads[0] = 0;
  const rowStart = new Uint32Array(units + 1);
  const row = emptyRow();
  columns.count = 0;
  let same = true;
  for (let start = 0; start < units; start++) {
    if (start % rowsBetweenPolls === 0) throwIfCancelled(signal);
    const headMs = heads[start] ?? Infinity;
    if (headMs < Infinity) {
      rows.read(start, wanted.limitMs, row);
      reserve(columns, row.length);
      // Peaks take room of their own only where they are something else than the times.
      same = row.ms === row.peakMs;
      if (!same && columns.peakMs.length < columns.to.length) columns.peakMs = grown(columns.peakMs, new Float64Array(columns.to.length));
      columns.count = keepInRow(row, start, headMs, heads, suffixCosts, wanted, columns);
    }
    rowStart[start + 1] = columns.count;
  }
  if (columns.count === 0) return null;
  const ms = columns.ms.slice(0, columns.count);
  return { rowStart, to: columns.to.slice(0, columns.count), ms, peakMs: same ? ms : columns.peakMs.slice(0, columns.count) };
}

/** Advances `heads` along the slices of a row and keeps the wanted ones; returns how many are kept in all. */
function keepInRow(
  { ms, peakMs, to, offset, length }: SliceRow,
  start: number,
  headMs: number,
  heads: Float64Array,
  suffixCosts: Float64Array,
  { aboveMs, limitMs, withinMs, weight }: PlanLimits,
  kept: PruneScratch,
): number {
  const apart = ms !== peakMs;
  let count = kept.count;
  for (let index = 0; index < length; index++) {
    const peak = peakMs[offset + index] ?? 0;
    if (peak > limitMs) continue;
    const end = to === null ? start + 1 + index : (to[offset + index] ?? 0);
    const sliceMs = ms[offset + index] ?? 0;
    const reachedMs = headMs + sliceMs;
    if (reachedMs + (suffixCosts[end] ?? 0) + weight * (peak > aboveMs ? peak : aboveMs) > withinMs) continue;
    if (reachedMs < (heads[end] ?? 0)) heads[end] = reachedMs;
    kept.to[count] = end;
    kept.ms[count] = sliceMs;
    if (apart) kept.peakMs[count] = peak;
    count++;
  }
  return count;
}
