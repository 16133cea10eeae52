import { throwIfCancelled, type CancelSignal } from '../errors';
import { lineLowerBounds } from './line-lower-bounds';
import { linesFrom, reach, reachFrom, segmentFrom, type Lines, type Segment } from './lines';
import { checkedMs, requireGrowth, unitCount, type SlicingProblem } from './problem';
import { rowsBetweenPolls, type SliceRow, type SliceRows, type SliceSpans } from './slice-rows';
import { boundedSuffixCosts, type CheapestFrom } from './suffix-costs';

/** Relative deviation from a straight line that passes for rounding when a declared structure is checked. */
const straight = 1e-9;

/** Rows of slices that are functions, and sums over slices of one length in a row. */
export interface AffineRows extends SliceRows {
  /**
   * `count` slices of `length` units each from unit `start` on, none of them the last of a sequence with a broken unit: their sum and the
   * slowest, ms.
   */
  readonly series: (length: number, start: number, count: number) => { readonly totalMs: number; readonly slowestMs: number };
}

/**
 * Slices of chunks of `sequences` sequences where the cost is affine in the context between `kinks`: two numbers per length and segment
 * stand for all of them, so nothing grows with the square of the units. Calls the cost three times per length and segment.
 * @param withinMs slices that take longer may be left out, where the cost grows.
 * @throws RangeError when a time is negative or NaN, or the middle of a segment is off the line that was declared.
 */
export function affineRows(
  problem: SlicingProblem,
  sequences: number,
  kinks: readonly number[],
  signal?: CancelSignal,
  withinMs = Infinity,
): AffineRows {
  const units = unitCount(problem);
  const segments = affineSegments(problem, sequences, units, kinks, withinMs, signal);
  const lines = linesFrom(units, segments, endTimes(problem, sequences, units));
  const lowerBounds = lineLowerBounds(lines);
  const cheapest = cheapestOn(lines);
  const segmentAt = segmentFinder(lines);
  return {
    sequences,
    units,
    read: rowReader(lines, segmentAt),
    spans: spansIn(lines, segmentAt),
    lowerBound: lowerBounds.about,
    graph: null,
    suffixCosts: (limitMs, withinMs, suffixCosts, looked) =>
      boundedSuffixCosts(lines, lowerBounds, limitMs, withinMs, suffixCosts, cheapest, looked),
    series: (length, start, count) => sumSeries(lines.segments, length, start, count),
  };
}

/** The segment of every unit. */
function segmentFinder({ units, segments }: Lines): (start: number) => Segment | undefined {
  if (segments.length === 1) return () => segments[0];
  const segmentIndex = new Uint32Array(units);
  segments.forEach(({ first, last }, index) => segmentIndex.fill(index, first, last + 1));
  return (start) => segments[segmentIndex[start] ?? 0];
}

function rowReader({ units, ends }: Lines, segmentAt: (start: number) => Segment | undefined): SliceRows['read'] {
  const buffer = new Float64Array(units);
  return (start: number, limitMs: number, row: SliceRow): void => {
    const segment = segmentAt(start);
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
}

function spansIn({ units, ends }: Lines, segmentAt: (start: number) => Segment | undefined): SliceSpans {
  const ms = (start: number, length: number): number => {
    if (ends !== null && length === units - start) return ends[start] ?? Infinity;
    const segment = segmentAt(start);
    return segment === undefined ? Infinity : (segment.base[length] ?? Infinity) + (segment.slope[length] ?? 0) * (start - segment.first);
  };
  return {
    ms,
    longest: (start, limitMs, guess) => {
      const segment = segmentAt(start);
      const most = units - start;
      if (segment === undefined || (ends !== null && (ends[start] ?? Infinity) <= limitMs)) return most;
      let length = reachFrom(segment, start, limitMs, ends === null ? most : most - 1, guess);
      while (length > 0 && ms(start, length) > limitMs) length--;
      return length;
    },
  };
}

function fillRow(buffer: Float64Array, { base, slope }: Segment, distance: number, length: number): void {
  for (let index = 0; index < length; index++) buffer[index] = (base[index + 1] ?? 0) + (slope[index + 1] ?? 0) * distance;
}

function cheapestOn({ units, ends }: Lines): CheapestFrom {
  return ({ first, base, slope }, start, limitMs, { totals, counts, next, peaks, stops }, from, to) => {
    const distance = start - first;
    const endMs = ends === null ? Infinity : (ends[start] ?? Infinity);
    let best = endMs <= limitMs ? endMs : Infinity;
    let bestMs = best;
    let bestCount = 0;
    let found = units;
    for (let index = from; index < to; index++) {
      const stop = stops[index] ?? 0;
      const ms = (base[stop - start] ?? 0) + (slope[stop - start] ?? 0) * distance;
      if (ms > limitMs) continue;
      const total = ms + (totals[stop] ?? 0);
      if (total > best) continue;
      const count = counts[stop] ?? 0;
      if (total === best && count >= bestCount) continue;
      best = total;
      bestMs = ms;
      bestCount = count;
      found = stop;
    }
    totals[start] = best;
    counts[start] = bestCount + 1;
    next[start] = found;
    peaks[start] = bestMs;
  };
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

function affineSegments(
  problem: SlicingProblem,
  sequences: number,
  units: number,
  kinks: readonly number[],
  withinMs: number,
  signal: CancelSignal | undefined,
): Segment[] {
  const { unit, tokens } = problem;
  const bounds = [0, ...kinks.filter((kink) => kink > 0 && kink < tokens).toSorted((a, b) => a - b), tokens];
  const segments: Segment[] = [];
  let first = 0;
  for (let index = 1; index < bounds.length && first < units; index++) {
    const last = Math.min(units - 1, Math.floor((bounds[index] ?? tokens) / unit));
    if (last < first) continue;
    segments.push(sampleSegment(problem, sequences, units, first, last, withinMs, signal));
    first = last + 1;
  }
  return segments;
}

/** Asks for the first, the middle and the last start of every length. @throws RangeError where they are not on a line. */
function sampleSegment(
  problem: SlicingProblem,
  sequences: number,
  units: number,
  first: number,
  last: number,
  withinMs: number,
  signal: CancelSignal | undefined,
): Segment {
  const { unit, tokens, cost, minimumTokens = 1 } = problem;
  const base = new Float64Array(units + 1).fill(Infinity);
  const slope = new Float64Array(units + 1);
  const whole = Math.floor(tokens / unit);
  let longest = units;
  for (let length = Math.max(1, Math.ceil(minimumTokens / unit)), before = 0; length <= units; length++) {
    const farthest = Math.min(last, whole - length);
    const near = farthest < first ? Infinity : checkedMs(cost, sequences, length * unit, first * unit);
    if (farthest < first || near > withinMs) {
      slope.fill(slope[length - 1] ?? 0, length);
      longest = length - 1;
      break;
    }
    if (length % rowsBetweenPolls === 0) throwIfCancelled(signal);
    requireGrowth(problem, before, near, length * unit, first * unit);
    before = near;
    base[length] = near;
    // A length that can start at one place only continues as the one before it, so that it does not level all least slopes.
    slope[length] = slope[length - 1] ?? 0;
    if (farthest === first || near === Infinity) continue;
    const far = checkedMs(cost, sequences, length * unit, farthest * unit);
    requireGrowth(problem, near, far, length * unit, farthest * unit);
    const rise = (far - near) / (farthest - first);
    slope[length] = rise;
    const middle = (first + farthest) >> 1;
    const off = checkedMs(cost, sequences, length * unit, middle * unit) - (near + rise * (middle - first));
    if (!(Math.abs(off) <= straight * Math.max(near, far)))
      throw new RangeError(
        `slice times of ${length * unit} tokens are not affine in the context from ${first * unit} to ${farthest * unit}`,
      );
  }
  return segmentFrom(first, last, base, slope, longest);
}

function sumSeries(segments: readonly Segment[], length: number, start: number, count: number): { totalMs: number; slowestMs: number } {
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
