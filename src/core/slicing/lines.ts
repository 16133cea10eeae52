import { throwIfCancelled, type CancelSignal } from '../errors';

/**
 * Starts `first` to `last` of one kind of chunk, whose slice times grow evenly with the start. The time of l units from unit i is `base[l]
 * + slope[l] * (i - first)` ms, or has that as a lower bound.
 * `leastBase[l]` and `leastSlope[l]` are the least over all lengths >= l.
 */
export interface Segment {
  readonly first: number;
  readonly last: number;
  /** Units of the longest slice with a time: `base` is Infinity and `slope` the same from there on. */
  readonly longest: number;
  readonly base: Float64Array;
  readonly slope: Float64Array;
  readonly leastBase: Float64Array;
  readonly leastSlope: Float64Array;
}

/** Straight lines under the times of all slices of one kind of chunk, and what follows from them. */
export interface Lines {
  /** Units in a sequence. */
  readonly units: number;
  /** From the start of the sequence to its end, with no unit between. */
  readonly segments: readonly Segment[];
  /** Where the last unit is broken: the slice from each unit to the end, ms, which the segments do not contain. */
  readonly ends: Float64Array | null;
  /** Under any one limit, a later start never reaches less far, and its longest slice is never longer. */
  readonly steady: boolean;
}

/** A segment with what follows from its columns: the least base and slope from each entry on. */
export function segmentFrom(first: number, last: number, base: Float64Array, slope: Float64Array, longest: number): Segment {
  return { first, last, longest, base, slope, leastBase: leastFromHere(base, longest), leastSlope: leastFromHere(slope, longest) };
}

/** Lines of their segments, and whether they are steady. */
export function linesFrom(units: number, segments: readonly Segment[], ends: Float64Array | null): Lines {
  return { units, segments, ends, steady: ends === null && areSteady(segments, units) };
}

/** For every entry the least of it and all after it; none after `longest` falls. The same column where that changes nothing. */
function leastFromHere(values: Float64Array, longest: number): Float64Array {
  let least = values;
  for (let index = Math.min(longest, values.length - 2); index >= 0; index--) {
    const next = least[index + 1] ?? 0;
    if ((values[index] ?? 0) <= next) continue;
    if (least === values) least = values.slice();
    least[index] = next;
  }
  return least;
}

/** The longest slice from `start` that may stay within the limit, from a guess; none above `longest`. */
export function reachFrom(
  { first, leastBase, leastSlope }: Segment,
  start: number,
  limitMs: number,
  longest: number,
  guess: number,
): number {
  const distance = start - first;
  let length = guess < longest ? guess : longest;
  while (length < longest && (leastBase[length + 1] ?? Infinity) + (leastSlope[length + 1] ?? 0) * distance <= limitMs) length++;
  while (length > 0 && (leastBase[length] ?? Infinity) + (leastSlope[length] ?? 0) * distance > limitMs) length--;
  return length;
}

/** The same from no guess. */
export function reach({ first, leastBase, leastSlope }: Segment, start: number, limitMs: number, longest: number): number {
  const distance = start - first;
  let low = 0;
  let high = longest;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((leastBase[middle] ?? Infinity) + (leastSlope[middle] ?? 0) * distance <= limitMs) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * Whether shortening a slice by one unit at its start never makes it slower, and moving it one unit later never makes it faster; then
 * `steady` holds.
 */
function areSteady(segments: readonly Segment[], units: number): boolean {
  let before: Segment | null = null;
  for (const segment of segments) {
    const { first, last } = segment;
    if (before !== null && !isSteadyStep(before, before.last, segment, first, units)) return false;
    if (last > first && !(isSteadyStep(segment, first, segment, first + 1, units) && isSteadyStep(segment, last - 1, segment, last, units)))
      return false;
    before = segment;
  }
  return true;
}

/** The same of two starts in turn; what holds at two places of a segment holds between, as all is straight there. */
function isSteadyStep(before: Segment, from: number, after: Segment, to: number, units: number): boolean {
  const [apart, near] = [from - before.first, to - after.first];
  const longest = Math.min(units - before.first, Math.max(before.longest, after.longest) + 1);
  for (let length = 1; length <= longest; length++) {
    const longMs = (before.leastBase[length] ?? Infinity) + (before.leastSlope[length] ?? 0) * apart;
    const shortMs = length === 1 ? 0 : (after.leastBase[length - 1] ?? Infinity) + (after.leastSlope[length - 1] ?? 0) * near;
    const laterMs = (after.leastBase[length] ?? Infinity) + (after.leastSlope[length] ?? 0) * near;
    if (shortMs > longMs || laterMs < longMs) return false;
  }
  return true;
}

/** Where greedy slices under a limit lead: the farthest unit that this many of them reach. */
export interface Strides {
  /** No cut of the sequence under the limit has fewer slices; `Infinity`: none ends under it. */
  readonly slices: number;
  /** No slice under the limit is longer. */
  readonly longest: number;
  /** `farthest[k]`: no k slices lead beyond this unit; 0 to `slices`. Valid until the next call. */
  readonly farthest: Uint32Array;
}

/** How far slices under a limit lead at most. O(slices) where lines are steady, else O(units). */
export function lineStrides(lines: Lines, limitMs: number, farthest: Uint32Array, signal?: CancelSignal): Strides {
  return lines.steady ? steadyStrides(lines, limitMs, farthest) : anyStrides(lines, limitMs, farthest, signal);
}

function steadyStrides({ units, segments }: Lines, limitMs: number, farthest: Uint32Array): Strides {
  let longest = -1;
  let length = 0;
  let slices = 0;
  let at = 0;
  farthest[0] = 0;
  for (const segment of segments)
    while (at <= segment.last) {
      if (longest < 0) longest = length = reach(segment, at, limitMs, units);
      else length = reachFrom(segment, at, limitMs, units - at, length);
      if (length === 0) return { slices: Infinity, longest, farthest };
      at += length;
      slices++;
      farthest[slices] = at;
    }
  return { slices, longest, farthest };
}

function anyStrides({ units, segments, ends }: Lines, limitMs: number, farthest: Uint32Array, signal: CancelSignal | undefined): Strides {
  let longest = 0;
  let length = 0;
  let slices = 0;
  let stop = 0;
  let far = 0;
  farthest[0] = 0;
  for (const segment of segments) {
    throwIfCancelled(signal);
    for (let start = segment.first; start <= segment.last; start++) {
      length = reachFrom(segment, start, limitMs, units - start, length);
      const most = ends !== null && (ends[start] ?? Infinity) <= limitMs ? units - start : length;
      if (most > longest) longest = most;
      if (start + most > far) far = start + most;
      if (start !== stop || stop >= units) continue;
      if (far === start) return { slices: Infinity, longest, farthest };
      slices++;
      stop = far;
      farthest[slices] = stop;
    }
  }
  return { slices, longest, farthest };
}
