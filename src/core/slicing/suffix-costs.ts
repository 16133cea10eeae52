import { throwIfCancelled, type CancelSignal } from '../errors';
import type { LineLowerBound, LineLowerBounds } from './line-lower-bounds';
import { reachFrom, type Lines, type Segment } from './lines';
import { rowsBetweenPolls, type SuffixCosts } from './slice-rows';

/** Relative slack for the rounding of bounds that are compared with sums. */
const slack = 1e-9;

/**
 * The first slice of the cheapest suffix from `start` to one of the stops, those at entries `from` to `to - 1` of `suffixCosts.stops`, the
 * farthest first: writes totals, counts, next and peaks of the start. Of equally cheap suffixes one of the fewest slices, then of the
 * longest first slice.
 */
export type CheapestFrom = (segment: Segment, start: number, limitMs: number, suffixCosts: SuffixCosts, from: number, to: number) => void;

/**
 * Eq. 8 from the end of the sequence for cuts of at most `withinMs` in all: only from units and to units through which such a cut can lead.
 * Totals of others are `Infinity`, and those of all where there is none; with `withinMs` infinite those of all units are exact.
 * @returns slices visited.
 * @throws CancelledError
 */
export function boundedSuffixCosts(
  { units, segments, ends }: Lines,
  lowerBounds: LineLowerBounds,
  limitMs: number,
  withinMs: number,
  suffixCosts: SuffixCosts,
  cheapestFrom: CheapestFrom,
  signal: CancelSignal | undefined,
): number {
  const { totals, stops } = suffixCosts;
  const pollEvery = rowsBetweenPolls;
  const lowerBound = lowerBounds.at(limitMs, signal);
  const wanted = withinMs < Infinity ? wantedUnits(lowerBounds.prices(), lowerBound, withinMs * (1 + slack)) : null;
  if (wanted !== null && !(lowerBound.totalMs <= wanted.mostMs)) {
    totals.fill(Infinity);
    return 0;
  }
  // The end of a sequence with a broken unit is not a stop like others.
  const firstStop = ends === null ? 0 : 1;
  totals[units] = 0;
  suffixCosts.counts[units] = 0;
  stops[0] = units;
  let stopCount = 1;
  let from = firstStop;
  let longest = 0;
  let visits = 0;
  for (let index = segments.length - 1; index >= 0; index--) {
    const segment = segments[index];
    if (segment === undefined) continue;
    let length = 0;
    for (let start = segment.last; start >= segment.first; start--) {
      if (start % pollEvery === 0) throwIfCancelled(signal);
      length = reachFrom(segment, start, limitMs, units - start - firstStop, length);
      longest = Math.max(longest, ends !== null && (ends[start] ?? Infinity) <= limitMs ? units - start : length);
      totals[start] = Infinity;
      if (wanted?.isOut(start, longest) === true) continue;
      const end = start + length;
      while (from > firstStop && (stops[from - 1] ?? 0) <= end) from--;
      while (from < stopCount && (stops[from] ?? 0) > end) from++;
      visits += stopCount - from;
      cheapestFrom(segment, start, limitMs, suffixCosts, from, stopCount);
      const suffixMs = totals[start] ?? Infinity;
      if (suffixMs === Infinity) continue;
      if (wanted !== null && suffixMs + wanted.headMs(start) > wanted.mostMs) totals[start] = Infinity;
      else stops[stopCount++] = start;
    }
  }
  return visits;
}

/** What heads, from the start of the sequence to a unit, take at least; asked for units in descending order. */
interface WantedUnits {
  readonly mostMs: number;
  /** Whether a head to the unit and a suffix of slices of at most `longest` units are too dear together. */
  readonly isOut: (unit: number, longest: number) => boolean;
  readonly headMs: (unit: number) => number;
}

function wantedUnits(prices: Float64Array, { perUnit, perSlice, strides }: LineLowerBound, mostMs: number): WantedUnits {
  const units = prices.length - 1;
  const { farthest } = strides;
  const mostSlices = perSlice > 0 ? (mostMs - (prices[units] ?? 0) - perUnit * units) / perSlice + slack : Infinity;
  let slices = strides.slices;
  return {
    mostMs,
    isOut: (unit, longest) => {
      while (slices > 0 && (farthest[slices - 1] ?? 0) >= unit) slices--;
      return slices + Math.ceil((units - unit) / longest) > mostSlices;
    },
    headMs: (unit) => (prices[unit] ?? 0) + perUnit * unit + perSlice * slices,
  };
}
