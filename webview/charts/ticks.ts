import { formatNumber } from '../../src/core/format';

/** Marks of an axis: where, and what is written there. */
interface Ticks {
  readonly values: readonly number[];
  /** Distance between marks, in the unit of `values`. */
  readonly step: number;
}

/** Multiples of 1, 2 or 5 times a power of ten inside [start, end], at most `most` of them. */
export function niceTicks(start: number, end: number, most: number): Ticks {
  const span = end - start;
  if (!(span > 0) || most < 1) return { values: [], step: 0 };
  const raw = span / most;
  const magnitude = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5].find((factor) => factor * magnitude >= raw) ?? 10) * magnitude;
  const first = Math.ceil(start / step - 1e-9);
  const count = Math.floor(end / step + 1e-9) - first + 1;
  return { values: Array.from({ length: Math.max(0, count) }, (_, index) => (first + index) * step), step };
}

const timeUnits = [
  { unit: 's', sizeMs: 1000 },
  { unit: 'ms', sizeMs: 1 },
  { unit: 'µs', sizeMs: 1e-3 },
  { unit: 'ns', sizeMs: 1e-6 },
] as const;

/** Writes steps of one axis alike: only the number. */
export function stepLabels(step: number): (steps: number) => string {
  const decimals = Math.min(12, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)));
  const format = new Intl.NumberFormat('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return (steps) => format.format(steps);
}

/** Writes times of one axis alike: one unit for all of them, as many decimals as its step needs. `stepMs` > 0. */
export function timeLabels(stepMs: number, largestMs: number): (ms: number) => string {
  const { unit, sizeMs } =
    timeUnits.find((candidate) => largestMs >= candidate.sizeMs && stepMs >= candidate.sizeMs * 1e-3) ??
    timeUnits.find((candidate) => stepMs >= candidate.sizeMs) ??
    timeUnits[3];
  const decimals = Math.min(12, Math.max(0, Math.ceil(-Math.log10(stepMs / sizeMs) - 1e-9)));
  const format = new Intl.NumberFormat('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return (ms) => `${format.format(ms / sizeMs)} ${unit}`;
}

/** One time with as many digits as a window of `spanMs` can distinguish on a screen. */
export function formatTime(ms: number, spanMs: number, ofFile = false): string {
  const step = 10 ** Math.floor(Math.log10(Math.max(spanMs, 1e-9) / 500));
  return ofFile ? stepLabels(step)(ms) : timeLabels(step, Math.max(Math.abs(ms), spanMs / 10))(ms);
}

/** `+1.2 %`: the fit is above what was measured. */
export function signedPercent(percent: number): string {
  const rounded = hundredths(percent);
  return `${rounded > 0 ? '+' : rounded < 0 ? '−' : ''}${formatNumber(Math.abs(rounded))} %`;
}

/** `1.24 %`, or a dash. */
export function percentText(percent: number): string {
  return `${formatNumber(hundredths(percent))} %`;
}

/** Clocks do not resolve differences below a hundredth of a percent. */
function hundredths(percent: number): number {
  return Math.round(percent * 100) / 100;
}
