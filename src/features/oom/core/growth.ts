import type { Evidence, MemoryPoint } from './evidence';

/** Memory that grows from step to step. */
export interface Growth {
  readonly rank: number | null;
  readonly of: 'allocated' | 'reserved' | 'used' | 'lowest allocated';
  readonly fromBytes: number;
  readonly toBytes: number;
  /** Points, or windows of a trace, between the two. */
  readonly points: number;
}

/** Points that are left out: the optimizer makes its states at the first step, and kernels their workspaces. */
const warmUp = 2;
const fewestPoints = 4;
/** Growth below is noise. */
const leastGrowth = 0.01;
const leastBytes = 64 * 2 ** 20;

/**
 * The series that grows to the end, if one does: of several the first of tensors, else reserved, else in use.
 *
 * A highest-so-far figure rises by itself while lengths vary, in ever smaller steps, and stays where they do not. So memory counts as
 * growing where most points are above the one before, and the second half grows by at least a quarter of the whole.
 */
export function growthIn({ points, snapshot }: Evidence): Growth | null {
  if (snapshot !== null) return steadyGrowth(snapshot.lows.slice(1), 'lowest allocated', null);
  for (const [of, read] of kinds) {
    for (const [rank, values] of byRank(points, read)) {
      const growth = steadyGrowth(values.slice(warmUp), of, rank);
      if (growth !== null) return growth;
    }
  }
  return null;
}

const kinds = [
  ['allocated', (point: MemoryPoint) => point.allocatedBytes],
  ['reserved', (point: MemoryPoint) => point.reservedBytes],
  ['used', (point: MemoryPoint) => point.inUseBytes],
] as const;

function byRank(points: readonly MemoryPoint[], read: (point: MemoryPoint) => number | null): Map<number | null, number[]> {
  const ranks = new Map<number | null, number[]>();
  for (const point of points) {
    const value = read(point);
    if (value === null) continue;
    const values = ranks.get(point.rank);
    if (values === undefined) ranks.set(point.rank, [value]);
    else values.push(value);
  }
  return ranks;
}

function steadyGrowth(values: readonly number[], of: Growth['of'], rank: number | null): Growth | null {
  const [first, last] = [values[0], values.at(-1)];
  const middle = values[Math.floor(values.length / 2)];
  if (first === undefined || last === undefined || middle === undefined || values.length < fewestPoints) return null;
  const total = last - first;
  if (total < leastGrowth * last || total < leastBytes || last - middle < total / 4) return null;
  const rises = values.filter((value, at) => at > 0 && value > (values[at - 1] ?? value)).length;
  return rises < 0.6 * (values.length - 1) ? null : { rank, of, fromBytes: first, toBytes: last, points: values.length };
}
