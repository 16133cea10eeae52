import { throwIfCancelled, type CancelSignal } from '../errors';
import { lineLowerBounds } from './line-lower-bounds';
import { linesFrom, reachFrom, segmentFrom, type Lines } from './lines';
import { noTime, requireGrowth, unitCount, type SlicingProblem } from './problem';
import type { SliceRow, SliceRows, SliceSpans } from './slice-rows';
import { boundedSuffixCosts, type CheapestFrom } from './suffix-costs';

/** Slice times that are kept; beyond, costs without structure are computed each time: 128 MB. */
const keptTimes = 2 ** 24;

/** Number of slice times of a problem without structure: batch sizes x pairs of unit boundaries. */
function sliceTimeCount(problem: Pick<SlicingProblem, 'batch' | 'tokens' | 'unit' | 'maximumBatchSlice'>): number {
  const units = unitCount(problem);
  return Math.min(problem.batch, problem.maximumBatchSlice ?? problem.batch) * ((units * (units + 1)) / 2);
}

/** Relative slack by which lines stay below times that they were drawn through, for rounding. */
const below = 1e-14;

/**
 * Slices of chunks of `sequences` sequences for a cost with no known form: every time is asked for once and kept, where there are not
 * too many.
 * @param withinMs slices that take longer are left out, where the cost grows.
 * @throws RangeError when a time is negative or NaN (a bug of the cost function), CancelledError.
 */
export function tabulatedRows(
  problem: SlicingProblem,
  sequences: number,
  signal: CancelSignal | undefined,
  withinMs = Infinity,
): SliceRows {
  const units = unitCount(problem);
  if (sliceTimeCount(problem) > keptTimes) return askedRows(problem, sequences, units, withinMs);
  const times = new Float64Array((units * (units + 1)) / 2);
  const rowStart = new Uint32Array(units + 1);
  const lastStart = new Uint32Array(units + 1).fill(units - 1);
  for (let start = 0, longest = units; start < units; start++) {
    throwIfCancelled(signal);
    const from = rowStart[start] ?? 0;
    const kept = askRow(problem, sequences, units, start, withinMs, times, from);
    times.fill(Infinity, from + kept, from + units - start);
    for (; longest > kept; longest--) lastStart[longest] = Math.max(0, start - 1);
    rowStart[start + 1] = from + units - start;
  }
  const lines = linesUnder(times, rowStart, lastStart);
  const lowerBounds = lineLowerBounds(lines);
  const cheapest = cheapestIn(times, rowStart);
  return {
    sequences,
    units,
    lowerBound: lowerBounds.about,
    graph: null,
    read: (start, _limitMs, row) => {
      row.ms = times;
      row.peakMs = times;
      row.to = null;
      row.offset = rowStart[start] ?? 0;
      row.length = units - start;
    },
    spans: spansIn(times, rowStart, lines),
    suffixCosts: (limitMs, withinMs, suffixCosts, looked) =>
      boundedSuffixCosts(lines, lowerBounds, limitMs, withinMs, suffixCosts, cheapest, looked),
  };
}

/**
 * For every length a line under its times, with the slope between the first and the last start that it has a time at: what is known of
 * slices without looking at them. O(slices).
 */
function linesUnder(times: Float64Array, rowStart: Uint32Array, lastStart: Uint32Array): Lines {
  const units = rowStart.length - 1;
  const base = new Float64Array(units + 1).fill(Infinity);
  const slope = new Float64Array(units + 1);
  for (let length = 1; length <= units; length++) {
    const last = lastStart[length] ?? 0;
    const lastMs = times[(rowStart[last] ?? 0) + length - 1] ?? Infinity;
    const rise = (lastMs - (times[length - 1] ?? Infinity)) / last;
    slope[length] = Number.isFinite(rise) ? rise : (slope[length - 1] ?? 0);
  }
  for (let start = 0, index = 0; start < units; start++)
    for (let length = 1; length <= units - start; length++, index++) {
      const ms = (times[index] ?? 0) - (slope[length] ?? 0) * start;
      if (ms < (base[length] ?? 0)) base[length] = ms;
    }
  for (let length = 1; length <= units; length++) {
    const ms = base[length] ?? Infinity;
    if (ms < Infinity) base[length] = ms - below * (Math.abs(ms) + Math.abs(slope[length] ?? 0) * units);
  }
  return linesFrom(units, [segmentFrom(0, units - 1, base, slope, units)], null);
}

function spansIn(times: Float64Array, rowStart: Uint32Array, { units, segments }: Lines): SliceSpans {
  const ms = (start: number, length: number): number => times[(rowStart[start] ?? 0) + length - 1] ?? Infinity;
  const [segment] = segments;
  return {
    ms,
    longest: (start, limitMs, guess) => {
      let length = segment === undefined ? 0 : reachFrom(segment, start, limitMs, units - start, guess);
      while (length > 0 && ms(start, length) > limitMs) length--;
      return length;
    },
  };
}

function cheapestIn(times: Float64Array, rowStart: Uint32Array): CheapestFrom {
  return (_segment, start, limitMs, { totals, counts, next, peaks, stops }, from, to) => {
    const offset = (rowStart[start] ?? 0) - start - 1;
    let best = Infinity;
    let bestCount = 0;
    let found = 0;
    for (let index = from; index < to; index++) {
      const stop = stops[index] ?? 0;
      const ms = times[offset + stop] ?? 0;
      if (ms > limitMs) continue;
      const total = ms + (totals[stop] ?? 0);
      if (total > best) continue;
      const count = counts[stop] ?? 0;
      if (total === best && (count >= bestCount || total === Infinity)) continue;
      best = total;
      bestCount = count;
      found = stop;
    }
    totals[start] = best;
    if (best === Infinity) return;
    counts[start] = bestCount + 1;
    next[start] = found;
    peaks[start] = times[offset + found] ?? 0;
  };
}

function askedRows(problem: SlicingProblem, sequences: number, units: number, withinMs: number): SliceRows {
  const buffer = new Float64Array(units);
  return {
    sequences,
    units,
    lowerBound: null,
    graph: null,
    read: (start: number, _limitMs: number, row: SliceRow) => {
      row.length = askRow(problem, sequences, units, start, withinMs, buffer, 0);
      row.ms = buffer;
      row.peakMs = buffer;
      row.to = null;
      row.offset = 0;
    },
  };
}

/**
 * Asks for the slices from `start` until one takes longer than `withinMs` and puts their times to `times` from `offset` on. Returns how
 * many.
 */
function askRow(
  problem: SlicingProblem,
  sequences: number,
  units: number,
  start: number,
  withinMs: number,
  times: Float64Array,
  offset: number,
): number {
  const { tokens, unit, cost, minimumTokens = 1 } = problem;
  const context = start * unit;
  const most = units - start;
  for (let length = 1, before = 0; length <= most; length++) {
    const covered = length < most ? length * unit : tokens - context;
    if (covered < minimumTokens) {
      times[offset + length - 1] = Infinity;
      continue;
    }
    const ms = cost(sequences, covered, context);
    if (!(ms >= 0)) throw noTime(ms, sequences, covered, context);
    if (ms < before) requireGrowth(problem, before, ms, covered, context);
    if (ms > withinMs) return length - 1;
    times[offset + length - 1] = ms;
    before = ms;
  }
  return most;
}
