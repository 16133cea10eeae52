import { formatCount, formatDuration, formatNumber } from '../../src/core/format';
import { niceTicks, timeLabels } from '../timeline/ticks';

export type Scale = 'linear' | 'log';

/** A mark of an axis. */
export interface Mark {
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
export function shareOf({ scale, min, max }: Axis, value: number): number {
  return scale === 'linear' ? (value - min) / (max - min) : Math.log(Math.max(value, 1e-300) / min) / Math.log(max / min);
}

/** Tokens: from 0 when linear; marks at powers of two when logarithmic. */
export function tokensAxis(scale: Scale, least: number, greatest: number): Axis {
  const { min, max } = bounds(scale, least, greatest);
  return { scale, min, max, marks: (most) => (scale === 'log' ? powers(2, min, max, most) : even(min, max, most)) };
}

/** Times in ms. */
export function timeAxis(scale: Scale, least: number, greatest: number): Axis {
  const { min, max } = bounds(scale, least, greatest);
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
  return { scale: 'linear', min: 0, max, marks: (most) => even(0, max, most) };
}

/** Percent either side of 0, at least +-2.6 so that the goal of 2 % is in sight. */
export function errorAxis(greatest: number): Axis {
  const max = Math.max(2.6, greatest * 1.15);
  const text = (value: number): string => `${value > 0 ? '+' : ''}${formatNumber(value)} %`;
  return {
    scale: 'linear',
    min: -max,
    max,
    marks: (most) => niceTicks(-max, max, most).values.map((value) => ({ value, text: text(Math.abs(value) < 1e-9 ? 0 : value) })),
  };
}

/** Ratios, from 0 to a little over the greatest. */
export function ratioAxis(greatest: number): Axis {
  const max = Math.max(1.25, greatest * 1.1);
  return {
    scale: 'linear',
    min: 0,
    max,
    marks: (most) => niceTicks(0, max, most).values.map((value) => ({ value, text: `${formatNumber(value)}×` })),
  };
}

function bounds(scale: Scale, least: number, greatest: number): { readonly min: number; readonly max: number } {
  const max = greatest > 0 ? greatest : 1;
  if (scale === 'linear') return { min: 0, max: max * 1.04 };
  const min = least > 0 && least < max ? least : max / 2;
  const room = (max / min) ** 0.04;
  return { min: min / room, max: max * room };
}

function even(min: number, max: number, most: number): Mark[] {
  return niceTicks(min, max, most).values.map((value) => ({ value, text: countText(value) }));
}

function countText(value: number): string {
  return value < 1000 ? formatNumber(value) : formatCount(Math.round(value));
}

function powers(base: number, min: number, max: number, most: number): Mark[] {
  const [first, last] = [Math.ceil(Math.log(min) / Math.log(base) - 1e-9), Math.floor(Math.log(max) / Math.log(base) + 1e-9)];
  const every = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, most)));
  const exponents = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
  // Counted from the longest, the end that is read first.
  return exponents
    .filter((exponent) => (last - exponent) % every === 0)
    .map((exponent) => ({ value: base ** exponent, text: countText(base ** exponent) }));
}

/** 1, 2 and 5 of every decade; of fewer than `most` only the ones, and of those every few. */
function decades(min: number, max: number, most: number): number[] {
  const [first, last] = [Math.floor(Math.log10(min)), Math.ceil(Math.log10(max))];
  const exponents = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  for (const factors of [[1, 2, 5], [1, 3], [1]]) {
    const values = exponents
      .flatMap((exponent) => factors.map((factor) => factor * 10 ** exponent))
      .filter((value) => value >= min * (1 - 1e-9) && value <= max * (1 + 1e-9));
    if (values.length <= most) return values;
  }
  const every = Math.ceil(exponents.length / Math.max(1, most));
  return exponents.filter((exponent) => (exponent - first) % every === 0).map((exponent) => 10 ** exponent);
}
