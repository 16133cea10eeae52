import type { Rests, SliceRow, SliceRows } from './slice-rows';
import { rowsBetweenLooks } from './token-program';
import { throwIfCancelled, type CancelSignal } from '../errors';
import { checkedMs, unitCount, type SlicingProblem } from './problem';

/** Relative deviation from a straight line that passes for rounding when a declared structure is checked. */
const straight = 1e-9;

/**
 * Starts `first` to `last` of a kind of chunk, whose slices grow evenly with the start: one of l units from unit i takes `base[l] + slope[l] * (i - first)` ms.
 * `leastBase` and `leastSlope` hold the least of all at least that long.
 */
interface Segment {
  readonly first: number;
  readonly last: number;
  readonly base: Float64Array;
  readonly slope: Float64Array;
  readonly leastBase: Float64Array;
  readonly leastSlope: Float64Array;
}

/** Rows of slices that are functions, and sums over slices of one length in a row. */
export interface AffineRows extends SliceRows {
  /** `count` slices of `length` units each from unit `start` on, none of them the last of a sequence with a broken unit: their sum and the slowest, ms. */
  readonly series: (length: number, start: number, count: number) => { readonly totalMs: number; readonly slowestMs: number };
}

/**
 * Slices of chunks of `sequences` sequences where the cost is affine in the context between `kinks`: two numbers per length and segment stand for all of them, so nothing
 * grows with the square of the units. Calls the cost three times per length and segment.
 * @throws RangeError when a time is negative or NaN, or the middle of a segment is off the line that was declared.
 */
export function affineRows(problem: SlicingProblem, sequences: number, kinks: readonly number[], signal?: CancelSignal): AffineRows {
  const units = unitCount(problem);
  const ends = endTimes(problem, sequences, units);
  const segments = segmentsOf(problem, sequences, units, kinks, signal);
  const segmentOf = new Uint32Array(units);
  segments.forEach(({ first, last }, index) => segmentOf.fill(index, first, last + 1));
  const buffer = new Float64Array(units);
  const at = (start: number): Segment | undefined => segments[segmentOf[start] ?? 0];

  const read = (start: number, limitMs: number, row: SliceRow): void => {
    const segment = at(start);
    const longest = units - start;
    row.ms = buffer;
    row.peakMs = buffer;
    row.to = null;
    row.offset = 0;
    row.length = 0;
    if (segment === undefined) return;
    const endMs = ends === null ? Infinity : (ends[start] ?? Infinity);
    const length = endMs <= limitMs ? longest : reach(segment, start, limitMs, longest);
    fillRow(buffer, segment, start - segment.first, length);
    if (ends !== null && length === longest) buffer[longest - 1] = endMs;
    row.length = length;
  };
  return {
    sequences,
    units,
    read,
    floorMs: floorOf(units, segments, ends),
    graph: null,
    rests: (limitMs, rests, signal) => restsOver({ units, segments, ends }, limitMs, rests, signal),
    series: (length, start, count) => seriesOf(segments, length, start, count),
  };
}

function fillRow(buffer: Float64Array, { base, slope }: Segment, distance: number, length: number): void {
  for (let index = 0; index < length; index++) buffer[index] = (base[index + 1] ?? 0) + (slope[index + 1] ?? 0) * distance;
}

/** The longest slice from `start` that may stay within the limit. */
function reach({ first, leastBase, leastSlope }: Segment, start: number, limitMs: number, longest: number): number {
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

/** What stands for all slices of a kind. */
interface Lines {
  readonly units: number;
  readonly segments: readonly Segment[];
  readonly ends: Float64Array | null;
}

/** `cheapestRests` straight from the functions. */
function restsOver({ units, segments, ends }: Lines, limitMs: number, rests: Rests, signal: CancelSignal | undefined): number {
  rests.totals[units] = 0;
  rests.counts[units] = 0;
  let visits = 0;
  for (let index = segments.length - 1; index >= 0; index--) {
    const segment = segments[index];
    if (segment === undefined) continue;
    let length = 0;
    for (let start = segment.last; start >= segment.first; start--) {
      if (start % rowsBetweenLooks === 0) throwIfCancelled(signal);
      // The slice to a broken end is none of the functions' lengths.
      length = reachFrom(segment, start, limitMs, ends === null ? units - start : units - start - 1, length);
      visits += length;
      const endMs = ends === null ? Infinity : (ends[start] ?? Infinity);
      cheapestFrom(segment, start, length, limitMs, endMs <= limitMs ? endMs : Infinity, rests);
    }
  }
  return visits;
}

/** `reach`, from a guess that is close. */
function reachFrom({ first, leastBase, leastSlope }: Segment, start: number, limitMs: number, longest: number, guess: number): number {
  const distance = start - first;
  let length = guess;
  while (length < longest && (leastBase[length + 1] ?? Infinity) + (leastSlope[length + 1] ?? 0) * distance <= limitMs) length++;
  while (length > 0 && (leastBase[length] ?? Infinity) + (leastSlope[length] ?? 0) * distance > limitMs) length--;
  return length;
}

/** The cheapest rest from `start`; `endMs` is the time of the slice to a broken end, `Infinity` where there is none under the limit. */
function cheapestFrom(
  segment: Segment,
  start: number,
  length: number,
  limitMs: number,
  endMs: number,
  { totals, counts, next, peaks }: Rests,
): void {
  const { base, slope } = segment;
  const distance = start - segment.first;
  let best = endMs;
  let bestMs = endMs;
  let bestCount = 0;
  let found = totals.length - 1 - start;
  for (let index = length; index >= 1; index--) {
    const ms = (base[index] ?? 0) + (slope[index] ?? 0) * distance;
    if (ms > limitMs) continue;
    const total = ms + (totals[start + index] ?? 0);
    if (total > best) continue;
    const count = counts[start + index] ?? 0;
    if (total === best && count >= bestCount) continue;
    best = total;
    bestMs = ms;
    bestCount = count;
    found = index;
  }
  totals[start] = best;
  counts[start] = bestCount + 1;
  next[start] = start + found;
  peaks[start] = bestMs;
}

/** Where the last unit is broken: the slice from each unit to the end, ms. Null where it is not. */
function endTimes(problem: SlicingProblem, sequences: number, units: number): Float64Array | null {
  const { tokens, unit, cost, minimumTokens = 1 } = problem;
  if (tokens % unit === 0) return null;
  return Float64Array.from({ length: units }, (_, start) => {
    const length = tokens - start * unit;
    return length < minimumTokens ? Infinity : checkedMs(cost, sequences, length, start * unit);
  });
}

function segmentsOf(
  problem: SlicingProblem,
  sequences: number,
  units: number,
  kinks: readonly number[],
  signal: CancelSignal | undefined,
): Segment[] {
  const { unit, tokens } = problem;
  const bounds = [0, ...kinks.filter((kink) => kink > 0 && kink < tokens).toSorted((a, b) => a - b), tokens];
  const segments: Segment[] = [];
  let first = 0;
  for (let index = 1; index < bounds.length && first < units; index++) {
    const last = Math.min(units - 1, Math.floor((bounds[index] ?? tokens) / unit));
    if (last < first) continue;
    segments.push(segmentOf(problem, sequences, units, first, last, signal));
    first = last + 1;
  }
  return segments;
}

function segmentOf(
  problem: SlicingProblem,
  sequences: number,
  units: number,
  first: number,
  last: number,
  signal: CancelSignal | undefined,
): Segment {
  const { unit, tokens, cost, minimumTokens = 1 } = problem;
  const base = new Float64Array(units + 1).fill(Infinity);
  const slope = new Float64Array(units + 1);
  const whole = Math.floor(tokens / unit);
  for (let length = Math.max(1, Math.ceil(minimumTokens / unit)); length <= units - first; length++) {
    const farthest = Math.min(last, whole - length);
    if (farthest < first) break;
    if (length % rowsBetweenLooks === 0) throwIfCancelled(signal);
    const near = checkedMs(cost, sequences, length * unit, first * unit);
    base[length] = near;
    if (farthest === first || near === Infinity) continue;
    const far = checkedMs(cost, sequences, length * unit, farthest * unit);
    const rise = (far - near) / (farthest - first);
    slope[length] = rise;
    const middle = (first + farthest) >> 1;
    const off = checkedMs(cost, sequences, length * unit, middle * unit) - (near + rise * (middle - first));
    if (!(Math.abs(off) <= straight * Math.max(near, far)))
      throw new RangeError(
        `slice times of ${length * unit} tokens are not affine in the context from ${first * unit} to ${farthest * unit}`,
      );
  }
  return { first, last, base, slope, leastBase: leastFromHere(base), leastSlope: leastFromHere(slope) };
}

function leastFromHere(values: Float64Array): Float64Array {
  const least = values.slice();
  for (let index = least.length - 2; index >= 0; index--) least[index] = Math.min(least[index] ?? 0, least[index + 1] ?? 0);
  return least;
}

/**
 * A lower bound that needs no program. Every unit u pays a price g(u) that follows the steepest context slope all lengths share; a slice of l units from i takes at least
 * l g(i) + m(l), and paying at its start instead of along the way saves it at most h(l). So no cut is cheaper than all prices and, per unit, the least of
 * (m(l) - h(l)) / l over the lengths that the limit lets pass.
 */
function floorOf(units: number, segments: readonly Segment[], ends: Float64Array | null): (limitMs: number) => number {
  const price = new Float64Array(units + 1);
  let steepest = 0;
  for (const { first, last, base, slope } of segments) {
    let shared = Infinity;
    for (let length = 1; length <= units - first; length++)
      if ((base[length] ?? Infinity) < Infinity && Math.min(last, units - 1 - length) > first)
        shared = Math.min(shared, (slope[length] ?? 0) / length);
    if (shared === Infinity || shared < 0) shared = 0;
    steepest = Math.max(steepest, shared);
    for (let unit = first; unit <= last; unit++) price[unit + 1] = (price[unit] ?? 0) + shared;
  }
  const prices = price.subarray(0, units).reduce((sum, each) => sum + each, 0);
  const above = new Float64Array(units + 1).fill(Infinity);
  const least = new Float64Array(units + 1).fill(Infinity);
  const take = (length: number, start: number, ms: number): void => {
    above[length] = Math.min(above[length] ?? 0, ms - length * (price[start] ?? 0));
    least[length] = Math.min(least[length] ?? 0, ms);
  };
  for (const { first, last, base, slope } of segments)
    for (let length = 1; length <= units - first; length++) {
      const farthest = Math.min(last, units - length);
      take(length, first, base[length] ?? Infinity);
      if (farthest > first) take(length, farthest, (base[length] ?? Infinity) + (slope[length] ?? 0) * (farthest - first));
    }
  ends?.forEach((ms, start) => take(units - start, start, ms));
  const rest = new Float64Array(units + 1).fill(Infinity);
  const rate = new Float64Array(units + 1).fill(Infinity);
  for (let length = 1; length <= units; length++) {
    rest[length] = (above[length] ?? Infinity) - (steepest * length * (length - 1)) / 2;
    rate[length] = Math.min(rate[length - 1] ?? Infinity, (rest[length] ?? Infinity) / length);
  }
  const leastPeak = leastFromHere(least);
  const lineUpTo = linesUnder(rest);
  return (limitMs) => {
    const longest = lastWithin(leastPeak, limitMs);
    const byRate = prices + units * (rate[longest] ?? Infinity);
    if (byRate === Infinity) return byRate;
    const { perSlice, perUnit } = lineUpTo(longest);
    if (perSlice <= 0) return byRate;
    const apart = prices + perUnit * units;
    const slices = apart <= 0 ? units / longest : Math.max(units / longest, apart / Math.max(0, limitMs - perSlice));
    return Math.max(byRate, apart + perSlice * Math.ceil(slices * (1 - straight)));
  };
}

/**
 * A line under the rests of all lengths up to a given one: `perSlice + perUnit * length`. Every slice costs at least `perSlice` besides what is paid per unit, and only so much
 * fits under a limit, so the number of slices rounds the bound up.
 */
function linesUnder(rest: Float64Array): (longest: number) => { readonly perSlice: number; readonly perUnit: number } {
  const known = new Map<number, { readonly perSlice: number; readonly perUnit: number }>();
  return (longest) => {
    const reach = Math.min(rest.length - 1, 2 ** Math.ceil(Math.log2(longest)));
    let line = known.get(reach);
    if (line === undefined) {
      let [first, last] = [1, reach];
      while (first < reach && !((rest[first] ?? Infinity) < Infinity)) first++;
      while (last > first && !((rest[last] ?? Infinity) < Infinity)) last--;
      const perUnit = last > first ? ((rest[last] ?? 0) - (rest[first] ?? 0)) / (last - first) : 0;
      let perSlice = Infinity;
      for (let length = first; length <= reach; length++) perSlice = Math.min(perSlice, (rest[length] ?? Infinity) - perUnit * length);
      line = { perSlice, perUnit };
      known.set(reach, line);
    }
    return line;
  };
}

/** The last index, from 1 on, at which the ascending `values` are within a limit; 0: none. */
function lastWithin(values: Float64Array, limit: number): number {
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((values[middle] ?? Infinity) <= limit) low = middle;
    else high = middle - 1;
  }
  return low;
}

function seriesOf(segments: readonly Segment[], length: number, start: number, count: number): { totalMs: number; slowestMs: number } {
  let totalMs = 0;
  let slowestMs = 0;
  let done = 0;
  for (const { first, last, base, slope } of segments) {
    const from = start + done * length;
    if (done >= count || from > last) continue;
    const here = Math.min(count - done, Math.floor((last - from) / length) + 1);
    const near = (base[length] ?? Infinity) + (slope[length] ?? 0) * (from - first);
    const far = near + (slope[length] ?? 0) * (here - 1) * length;
    totalMs += (here * (near + far)) / 2;
    slowestMs = Math.max(slowestMs, near, far);
    done += here;
  }
  return { totalMs, slowestMs };
}
