import { throwIfCancelled, type CancelSignal } from '../errors';
import { emptyRow, rowsBetweenPolls, type SliceRows } from './slice-rows';

/**
 * Distinct peaks above `lowMs` and below `highMs` of the slices of all kinds, ascending; null when more than `most` slices have such a
 * peak, which would take long to sort.
 */
export function distinctPeaks(
  kinds: readonly (SliceRows | null)[],
  lowMs: number,
  highMs: number,
  most: number,
  signal: CancelSignal | undefined,
): Float64Array | null {
  const row = emptyRow();
  const found = new Float64Array(most);
  let count = 0;
  for (const rows of kinds) {
    for (let start = 0; start < (rows?.units ?? 0); start++) {
      if (start % rowsBetweenPolls === 0) throwIfCancelled(signal);
      rows?.read(start, highMs, row);
      const stop = row.offset + row.length;
      for (let index = row.offset; index < stop; index++) {
        const ms = row.peakMs[index] ?? 0;
        if (ms <= lowMs || ms >= highMs) continue;
        if (count === most) return null;
        found[count++] = ms;
      }
    }
  }
  const sorted = found.subarray(0, count).sort();
  let kept = 0;
  for (const ms of sorted) if (kept === 0 || ms !== sorted[kept - 1]) sorted[kept++] = ms;
  return sorted.slice(0, kept);
}

/** Number of values below `value`. */
export function valueRank(values: Float64Array, value: number): number {
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
export function rankAbove(values: Float64Array, value: number): number {
  const rank = valueRank(values, value);
  return values[rank] === value ? rank + 1 : rank;
}
