import { bytesPerGiB, formatCount, formatDuration, formatNumber } from '../../src/core/format';
import { niceTicks, signedPercent, timeLabels } from './ticks';

export type Scale = 'linear' | 'log';

/** A mark of an axis. */
interface Mark {
  readonly value: number;
  readonly text: string;
}

/** One axis of a chart. `min` < `max`, both above 0 when logarithmic. */
export interface Axis {
  readonly scale: Scale;
  readonly min: number;
  readonly max: number;
  /** At most about `most` marks, ascending. */
  readonly marks: (most: number) => readonly Mark[];
}

/** Where a value lies between the ends of an axis: 0 at `min`, 1 at `max`. */
export function axisShare({ scale, min, max }: Axis, value: number): number {
  return scale === 'linear' ? (value - min) / (max - min) : Math.log(Math.max(value, 1e-300) / min) / Math.log(max / min);
}

/** A linear axis with marks at round numbers of a unit, each written by `text`. */
export function linearAxis(min: number, max: number, text: (units: number) => string, unit = 1): Axis {
  const marks = (most: number): Mark[] =>
    niceTicks(min / unit, max / unit, most).values.map((units) => ({ value: units * unit, text: text(units) }));
  return { scale: 'linear', min, max, marks };
}

/** Tokens: from 0 when linear; marks at powers of two when logarithmic. */
export function tokensAxis(scale: Scale, least: number, greatest: number): Axis {
  const { min, max } = bounds(scale, least, greatest);
  const linear = linearAxis(min, max, countText);
  return scale === 'linear' ? linear : { ...linear, scale, marks: (most) => powersOfTwo(linear, most) };
}

/** Times in ms: from 0 when linear. */
export function timeAxis(scale: Scale, least: number, greatest: number): Axis {
  return timesBetween(scale, bounds(scale, least, greatest));
}

/**
 * Times in ms that are compared with each other: logarithmic where the greatest is several times the least, else the stretch between them.
 * 0 < least <= greatest.
 */
export function stretchedTimeAxis(least: number, greatest: number): Axis {
  if (greatest > 3 * least) {
    const axis = timesBetween('log', bounds('log', least / 1.05, greatest * 1.05));
    const { marks } = timesBetween('linear', axis);
    return greatest > 20 * least ? axis : { ...axis, marks };
  }
  const room = Math.max(0.06 * (greatest - least), 0.01 * greatest);
  return timesBetween('linear', { min: least - room, max: greatest + room });
}

/** Bytes from 0 to `greatest`, all marks in GiB. */
export function bytesAxis(greatest: number): Axis {
  return linearAxis(0, Math.max(1, greatest), (units) => `${formatNumber(units)} GiB`, bytesPerGiB);
}

function timesBetween(scale: Scale, { min, max }: { readonly min: number; readonly max: number }): Axis {
  const linear = (most: number): Mark[] => {
    const { values, step } = niceTicks(min, max, most);
    const text = timeLabels(step, max);
    return values.map((value) => ({ value, text: value === 0 ? '0' : text(value) }));
  };
  const log = (most: number): Mark[] => decades(min, max, most).map((value) => ({ value, text: formatDuration(value) }));
  return { scale, min, max, marks: scale === 'log' ? log : linear };
}

/** Tokens a second from 0. */
export function rateAxis(greatest: number): Axis {
  const max = greatest > 0 ? greatest * 1.06 : 1;
  // One unit for all marks.
  const [size, unit] = max >= 1e7 ? [1e6, 'M'] : max >= 1e4 ? [1e3, 'K'] : [1, ''];
  return linearAxis(0, max, (rate) => (rate === 0 ? '0' : formatNumber(rate / size) + unit));
}

/** Percent either side of 0, at least +-2.6 so that the goal of 2 % is in sight. */
export function errorAxis(greatest: number): Axis {
  const max = Math.max(2.6, greatest * 1.15);
  return linearAxis(-max, max, signedPercent);
}

/** Ratios, from 0 to a little over the greatest. */
export function ratioAxis(greatest: number): Axis {
  return linearAxis(0, Math.max(1.25, greatest * 1.1), (ratio) => `${formatNumber(ratio)}x`);
}

function bounds(scale: Scale, least: number, greatest: number): { readonly min: number; readonly max: number } {
  const max = greatest > 0 ? greatest : 1;
  if (scale === 'linear') return { min: 0, max: max * 1.04 };
  const min = least > 0 && least < max ? least : max / 2;
  // A single length gets some room, too.
  const room = Math.max(1.05, (max / min) ** 0.04);
  return { min: min / room, max: max * room };
}

function countText(value: number): string {
  return value < 1000 ? formatNumber(value) : formatCount(Math.round(value));
}

/** Powers of two, every few of them when they are more than `most`, the greatest always; of a short axis, what a linear one would mark. */
function powersOfTwo({ min, max, marks }: Axis, most: number): readonly Mark[] {
  const [first, last] = [Math.ceil(Math.log2(min) - 1e-9), Math.floor(Math.log2(max) + 1e-9)];
  if (last <= first) return marks(most);
  const every = Math.ceil((last - first + 1) / Math.max(1, most));
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
    .filter((exponent) => (last - exponent) % every === 0)
    .map((exponent) => ({ value: 2 ** exponent, text: countText(2 ** exponent) }));
}

/**
 * 1, 2 and 5 of every decade, or 1 and 3, or the ones, or every few of those: no more than `most`; of a short axis, what a linear one would
 * mark.
 */
function decades(min: number, max: number, most: number): readonly number[] {
  const [first, last] = [Math.floor(Math.log10(min)), Math.ceil(Math.log10(max))];
  const exponents = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  const inside = (factors: readonly number[]): number[] =>
    exponents.flatMap((exponent) => factors.map((factor) => factor * 10 ** exponent)).filter((value) => value >= min && value <= max);
  const ones = inside([1]);
  if (inside([1, 2, 5]).length < 2) return niceTicks(min, max, most).values;
  const fitting = [inside([1, 2, 5]), inside([1, 3]), ones].find((values) => values.length <= most);
  return fitting ?? ones.filter((_, index) => index % Math.ceil(ones.length / Math.max(1, most)) === 0);
}
