import type { CancelSignal } from '../errors';
import { maximum } from '../numbers';
import { reach, lineStrides, type Lines, type Strides } from './lines';
import type { CutLowerBound } from './slice-rows';

/**
 * What any cut of this many units under a limit takes at least: the prices of its units, `perUnit` for each of them and `perSlice`, never
 * negative, for each slice; ms.
 */
export interface LineLowerBound extends CutLowerBound {
  readonly perUnit: number;
  readonly perSlice: number;
  readonly strides: Strides;
}

/** Lower bounds under any limit. */
export interface LineLowerBounds {
  /** Valid until the next call. */
  readonly at: (limitMs: number, signal?: CancelSignal) => LineLowerBound;
  /** The same, or a lower one that is above `enoughMs` and found at once. */
  readonly about: (limitMs: number, enoughMs?: number) => CutLowerBound;
  /** `prices()[u]`: what the first u units cost, ms. */
  readonly prices: () => Float64Array;
}

/**
 * docs/model/slicing.md, Lower bounds without a program. Every unit u pays a price g(u) that follows the steepest context slope all lengths
 * share, so that a slice of l units from i costs at least its units' prices and r(l), whatever its start. No cut is cheaper than all prices
 * and, for n slices of u units in all, n times the lower hull of r at u / n; greedy slices give the smallest n.
 */
export function lineLowerBounds(lines: Lines): LineLowerBounds {
  const { units } = lines;
  const rises = lines.segments.map(({ first, last, base, slope, longest }) =>
    last > first ? sharedRise(base, slope, Math.min(longest, units - 2 - first)) : 0,
  );
  const pricesMs = totalPrice(lines, rises);
  const residuals = lengthResiduals(lines, rises);
  const before = lowerHull(residuals, lines.ends === null ? maximum(lines.segments.map(({ longest }) => longest)) : units);
  const farthest = new Uint32Array(units + 1);
  const lineTotal = ({ perUnit, perSlice }: Line, slices: number): number => pricesMs + perUnit * units + perSlice * slices;
  const at: LineLowerBounds['at'] = (limitMs, signal) => {
    const strides = lineStrides(lines, limitMs, farthest, signal);
    const { slices, longest } = strides;
    if (slices === Infinity) return { totalMs: Infinity, slices, perUnit: 0, perSlice: 0, strides };
    const line = lineUnder(residuals, before, longest, units / slices);
    return { totalMs: lineTotal(line, slices), slices, ...line, strides };
  };
  const [start] = lines.segments;
  let prices: Float64Array | null = null;
  return {
    prices: () => (prices ??= unitPrices(lines, rises)),
    at,
    about: (limitMs, enoughMs = Infinity) => {
      // No slice is longer than the first one can be: that shows how many there are at least, without going from one to the next.
      const longest = lines.steady && start !== undefined ? reach(start, 0, limitMs, units) : 0;
      if (longest > 0 && enoughMs < Infinity) {
        const slices = Math.ceil(units / longest);
        const totalMs = lineTotal(lineUnder(residuals, before, longest, units / slices), slices);
        if (totalMs > enoughMs) return { totalMs, slices };
      }
      return at(limitMs);
    },
  };
}

/** What each unit and each slice takes, ms. */
interface Line {
  readonly perUnit: number;
  readonly perSlice: number;
}

/** What all units cost, ms. */
function totalPrice({ segments }: Lines, rises: readonly number[]): number {
  let sum = 0;
  let price = 0;
  for (const [index, { first, last }] of segments.entries()) {
    const [rise, count] = [rises[index] ?? 0, last + 1 - first];
    sum = sum + count * price + (rise * count * (count - 1)) / 2;
    price += rise * count;
  }
  return sum;
}

/** What the first units cost, ms, by their number. */
function unitPrices({ units, segments }: Lines, rises: readonly number[]): Float64Array {
  const prices = new Float64Array(units + 1);
  let price = 0;
  for (const [index, { first, last }] of segments.entries()) {
    const rise = rises[index] ?? 0;
    const sum = prices[first] ?? 0;
    for (let count = 1; count <= last + 1 - first; count++) prices[first + count] = sum + count * price + (rise * count * (count - 1)) / 2;
    price += rise * (last + 1 - first);
  }
  return prices;
}

/** r(l), ms, by length. */
function lengthResiduals({ units, segments, ends }: Lines, rises: readonly number[]): Float64Array {
  const residuals = new Float64Array(units + 1).fill(Infinity);
  const steepest = Math.max(0, maximum(rises));
  let price = 0;
  for (const [index, { first, last, base, slope, longest }] of segments.entries()) {
    const rise = rises[index] ?? 0;
    for (let length = 1; length <= Math.min(longest, units - first); length++) {
      const near = base[length] ?? Infinity;
      const apart = Math.min(last, units - length) - first;
      // Paying the price of its start for all its units, and how far that may fall short.
      const atStart = near - length * price;
      const atEnd = apart <= 0 ? atStart : near + (slope[length] ?? 0) * apart - length * (price + rise * apart);
      const least = (atStart < atEnd ? atStart : atEnd) - (steepest * length * (length - 1)) / 2;
      if (least < (residuals[length] ?? Infinity)) residuals[length] = least;
    }
    ends?.subarray(first, last + 1).forEach((ms, distance) => {
      const length = units - first - distance;
      const least = ms - length * (price + rise * distance) - (steepest * length * (length - 1)) / 2;
      if (least < (residuals[length] ?? Infinity)) residuals[length] = least;
    });
    price += rise * (last + 1 - first);
  }
  return residuals;
}

/** The largest rise per unit of start and of length that every length up to `longest` has. */
function sharedRise(base: Float64Array, slope: Float64Array, longest: number): number {
  let shared = Infinity;
  for (let length = 1; length <= longest; length++) {
    const rise = (slope[length] ?? 0) / length;
    if (rise < shared && (base[length] ?? Infinity) < Infinity) shared = rise;
  }
  return shared === Infinity || shared < 0 ? 0 : shared;
}

/**
 * For every length the corner before it on the lower hull of all values up to it; 0: none. A length without a value (Infinity) gets the
 * previous corner; none beyond `longest` has one.
 */
function lowerHull(values: Float64Array, longest: number): Uint32Array {
  const before = new Uint32Array(values.length);
  let last = 0;
  for (let length = 1; length <= longest; length++) {
    const value = values[length] ?? Infinity;
    if (value === Infinity) {
      before[length] = last;
      continue;
    }
    while (last > 0) {
      const earlier = before[last] ?? 0;
      if (earlier === 0) break;
      const lastMs = values[last] ?? 0;
      const earlierMs = values[earlier] ?? 0;
      if ((lastMs - earlierMs) * (length - last) < (value - lastMs) * (last - earlier)) break;
      last = earlier;
    }
    before[length] = last;
    last = length;
  }
  return before.fill(last, longest + 1);
}

/**
 * The line under the values of all lengths up to the longest that is highest at `mean`, among lines that are not negative at 0: an edge of
 * the hull or, where more slices than the fewest would be cheaper, the line from 0 to the corner at which they are cheapest.
 */
function lineUnder(values: Float64Array, before: Uint32Array, longest: number, mean: number): Line {
  let corner = (values[longest] ?? Infinity) < Infinity ? longest : (before[longest] ?? 0);
  if (corner === 0) return { perUnit: Infinity, perSlice: 0 };
  for (;;) {
    const value = values[corner] ?? Infinity;
    const earlier = before[corner] ?? 0;
    const perUnit = (value - (values[earlier] ?? 0)) / (corner - earlier);
    const perSlice = value - perUnit * corner;
    if (earlier === 0 || (perSlice >= 0 && corner <= mean)) return { perUnit: value / corner, perSlice: 0 };
    if (perSlice >= 0 && earlier <= mean) return { perUnit, perSlice };
    corner = earlier;
  }
}
