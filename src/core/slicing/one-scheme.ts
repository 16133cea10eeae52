import { emptyRow, type SliceRow, type SliceRows } from './slice-rows';
import { minimum } from '../numbers';

/** Partitions of the batch that are tried at most; beyond, only those into chunks of one size and one smaller rest. */
const mostPartitions = 1000;

/** Ways to compose a batch of chunks of up to `largest` sequences: sizes, descending. `complete`: all of them. */
export function batchPartitions(
  batch: number,
  largest: number,
): { readonly partitions: readonly (readonly number[])[]; readonly complete: boolean } {
  const partitions: number[][] = [];
  const extend = (left: number, most: number, sizes: readonly number[]): boolean => {
    if (left === 0) return partitions.push([...sizes]) <= mostPartitions;
    for (let size = Math.min(left, most); size >= 1; size--) if (!extend(left - size, size, [...sizes, size])) return false;
    return true;
  };
  if (extend(batch, largest, [])) return { partitions, complete: true };
  const even = Array.from({ length: Math.min(batch, largest) }, (_, index) => {
    const size = index + 1;
    const rest = batch % size;
    return [...Array.from({ length: Math.floor(batch / size) }, () => size), ...(rest === 0 ? [] : [rest])];
  });
  return { partitions: even, complete: false };
}

/** All chunks of a batch cut alike, as one chunk: a slice adds the times of all sizes to the sum and the longest of them to the slowest. */
export function jointRows(kinds: readonly SliceRows[], sizes: readonly number[]): SliceRows {
  const units = kinds[0]?.units ?? 0;
  const counts = new Map<number, number>();
  for (const size of sizes) counts.set(size, (counts.get(size) ?? 0) + 1);
  const members = [...counts].map(([size, count]) => ({ rows: kinds[size - 1], count, row: emptyRow() }));
  const ms = new Float64Array(units);
  const peakMs = new Float64Array(units);
  return {
    sequences: sizes.reduce((sum, size) => sum + size, 0),
    units,
    graph: null,
    lowerBound: members.every(({ rows }) => (rows?.lowerBound ?? null) !== null)
      ? (limitMs) => ({
          totalMs: members.reduce((sum, { rows, count }) => sum + count * (rows?.lowerBound?.(limitMs).totalMs ?? 0), 0),
          slices: 1,
        })
      : null,
    read: (start: number, limitMs: number, row: SliceRow) => {
      for (const { rows, row: own } of members) rows?.read(start, limitMs, own);
      const length = minimum(members.map(({ row: own }) => own.length));
      ms.fill(0, 0, length);
      peakMs.fill(0, 0, length);
      for (const { count, row: own } of members)
        for (let index = 0; index < length; index++) {
          const time = own.ms[own.offset + index] ?? Infinity;
          ms[index] = (ms[index] ?? 0) + count * time;
          if (time > (peakMs[index] ?? 0)) peakMs[index] = time;
        }
      row.ms = ms;
      row.peakMs = peakMs;
      row.offset = 0;
      row.length = length;
      row.to = null;
    },
  };
}
