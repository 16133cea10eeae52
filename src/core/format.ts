import { own } from './records';
/** A number as text and its unit apart, for faces that set the unit smaller. */
export interface Quantity {
  readonly value: string;
  readonly unit: string;
}

interface Unit {
  readonly unit: string;
  /** In the base unit of the quantity. */
  readonly size: number;
  /** The least amount that is written in it, in the base unit; left out: one of it. */
  readonly from?: number;
}

const durationUnits: readonly Unit[] = [
  { unit: 'µs', size: 1e-3 },
  { unit: 'ms', size: 1 },
  { unit: 's', size: 1e3 },
  { unit: 'min', size: 60e3, from: 1e6 },
  { unit: 'h', size: 3600e3 },
  { unit: 'd', size: 86400e3 },
];

/**
 * Memory is shown in GiB, as PyTorch and nvidia-smi count it; the "80GB" in a GPU's name is its vendor's. Config keys that end in GB take
 * GiB too.
 */
export const bytesPerGiB = 2 ** 30;

const byteUnits: readonly Unit[] = [
  { unit: 'bytes', size: 1 },
  { unit: 'KiB', size: 2 ** 10 },
  { unit: 'MiB', size: 2 ** 20 },
  { unit: 'GiB', size: bytesPerGiB },
  { unit: 'TiB', size: 2 ** 40 },
];

const countUnits: readonly Unit[] = [
  { unit: '', size: 1 },
  { unit: 'K', size: 1e3 },
  { unit: 'M', size: 1e6 },
  { unit: 'B', size: 1e9 },
  { unit: 'T', size: 1e12 },
];

const notANumber = '–';

/** At most three significant digits, trailing zeros dropped, digits before the point kept and grouped: 1.48, 9.1, 16, 1,024. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return notANumber;
  if (Math.abs(value) >= 1e21) return value.toPrecision(3);
  return group(decimal(Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3))));
}

/** All digits that a number needs, grouped before the point: 128,256, 0.000001, 1e-22. */
export function formatExactly(value: number): string {
  return Math.abs(value) < 1 ? String(value) : value.toLocaleString('en-US', { maximumFractionDigits: 20 });
}

/** As `formatNumber`, trailing zeros kept, so that the numbers of a column align: 1.50, 12.0, 245. */
function columnNumber(value: number): string {
  if (!Number.isFinite(value) || value === 0 || Math.abs(value) < 1e-6 || Math.abs(Number(value.toPrecision(3))) >= 100)
    return formatNumber(value);
  return group(value.toPrecision(3));
}

/** The formats of this file for the columns of a table: three significant digits each. */
export const column = {
  number: columnNumber,
  duration: (ms: number): string => joined(durationQuantity(ms, columnNumber)),
  bytes: (bytes: number): string => joined(quantity(bytes, byteUnits, columnNumber)),
  usage: (usedBytes: number, capacityBytes: number): string => formatUsage(usedBytes, capacityBytes, columnNumber),
  percent: (fraction: number): string => (Number.isFinite(fraction) ? `${columnNumber(fraction * 100)} %` : notANumber),
} as const;

/** A duration in ms: `1.48 s`. Seconds go up to 1,000: steps of a minute are compared in seconds. */
export function formatDuration(ms: number): string {
  return joined(durationQuantity(ms));
}

/** A point in time with as many decimals as three digits of a length take: `11.8124 s` where something of 74.4 ms starts. Both ms. */
export function formatMoment(ms: number, lengthMs: number): string {
  if (!(lengthMs > 0) || !(Math.abs(ms) >= roundingMs) || !Number.isFinite(lengthMs)) return formatDuration(ms);
  const { size, unit } = unitFor(ms, durationUnits);
  const decimals = (length: number): number => 2 - Math.floor(Math.log10(length / size));
  const wanted = Math.min(6, decimals(lengthMs));
  return wanted <= decimals(Math.abs(ms)) ? formatDuration(ms) : `${(ms / size).toFixed(wanted)} ${unit}`;
}

/** What the difference of two times may be off: no machine counts picoseconds. */
const roundingMs = 1e-9;

/** As `formatDuration`, number and unit apart. */
export function durationQuantity(ms: number, format = formatNumber): Quantity {
  return Math.abs(ms) < roundingMs ? { value: '0', unit: 'ms' } : quantity(ms, durationUnits, format);
}

/** What a step of `ms` is likely to take, between two of its multiples: `14.6 to 18.9 s`. */
export function formatDurationRange(ms: number, [low, high]: readonly [number, number]): string {
  const [from, to] = [durationQuantity(ms * low), durationQuantity(ms * high)];
  return `${from.unit === to.unit ? from.value : joined(from)} to ${joined(to)}`;
}

/** Memory in bytes: `9.1 GiB`. */
export function formatBytes(bytes: number): string {
  return joined(bytesQuantity(bytes));
}

/** As `formatBytes`, number and unit apart. */
function bytesQuantity(bytes: number): Quantity {
  const result = quantity(bytes, byteUnits);
  return result.value === '1' && result.unit === 'bytes' ? { value: '1', unit: 'byte' } : result;
}

/** Used and available memory in one unit, that of what is available, number by number. */
export function bytesOfQuantity(
  usedBytes: number,
  capacityBytes: number,
  format = formatNumber,
): { readonly used: string; readonly capacity: string; readonly unit: string } {
  const { size, unit } = unitFor(capacityBytes, byteUnits);
  return { used: format(usedBytes / size), capacity: format(capacityBytes / size), unit };
}

/** The same as text: `9.1 / 16 GiB`. */
export function formatUsage(usedBytes: number, capacityBytes: number, format = formatNumber): string {
  const { used, capacity, unit } = bytesOfQuantity(usedBytes, capacityBytes, format);
  return `${used} / ${capacity} ${unit}`;
}

/** A count: exact and grouped below 100,000 (`50,257`), with the field's suffix above (`175B`, `1.5M`). */
export function formatCount(count: number): string {
  if (!Number.isFinite(count)) return notANumber;
  if (Math.abs(count) < 1e5 && Number.isInteger(count)) return group(decimal(count));
  const { value, unit } = quantity(count, countUnits);
  return value + unit;
}

/** Tokens per second, in three significant digits: `943`, `9,790`, `78.3K`. */
export function formatRate(perSecond: number): string {
  if (!Number.isFinite(perSecond)) return notANumber;
  if (Math.abs(perSecond) < 1e4) return group(decimal(Number(perSecond.toPrecision(3))));
  const { value, unit } = quantity(perSecond, countUnits);
  return value + unit;
}

/** A fraction as percent: 0.098 is `9.8 %`. */
export function formatPercent(fraction: number): string {
  return Number.isFinite(fraction) ? `${formatNumber(fraction * 100)} %` : notANumber;
}

/** `2,048 tokens`. */
export function formatTokens(tokens: number): string {
  return `${formatCount(tokens)} ${tokens === 1 ? 'token' : 'tokens'}`;
}

/** `slice` and `slices` by number: `plural(3, 'slice')` is `3 slices`. */
export function plural(count: number, singular: string, many = `${singular}s`): string {
  return `${formatCount(count)} ${count === 1 ? singular : many}`;
}

function quantity(amount: number, units: readonly Unit[], format = formatNumber): Quantity {
  const { size, unit } = unitFor(amount, units);
  const value = format(amount / size);
  return { value, unit: value === notANumber ? '' : unit };
}

/** The largest unit that gives at least 1 after rounding to three digits, so that 999.7 ms is 1 s. */
function unitFor(amount: number, units: readonly Unit[]): Unit {
  const magnitude = Math.abs(amount);
  const isReached = ({ size, from = size }: Unit): boolean => Number((magnitude / size).toPrecision(3)) >= from / size;
  const fitting = units.filter(isReached);
  const found = fitting.at(-1) ?? units[0];
  if (found === undefined) throw new RangeError('no units');
  const next = units[units.indexOf(found) + 1];
  if (next !== undefined && Number((magnitude / found.size).toPrecision(3)) * found.size >= (next.from ?? next.size)) return next;
  return found;
}

function group(digits: string): string {
  const [whole = '', fraction] = digits.split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

function decimal(value: number): string {
  const text = String(value === 0 ? 0 : value);
  return text.includes('e') ? value.toFixed(20).replace(/\.?0+$/, '') : text;
}

function joined({ value, unit }: Quantity): string {
  return unit === '' ? value : `${value} ${unit}`;
}

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1e3, min: 6e4 };

/** A duration that a person writes, as `9.2 s`, `870ms` or, in ms, `870`; null for what is none. */
export function parseDuration(text: string): number | null {
  const [, number, unit = ''] = /^([\d.]+(?:e\d+)?)\s*(ms|s|min|)$/i.exec(text.trim()) ?? [];
  const ms = Number(number) * (own(unitsMs, unit === '' ? 'ms' : unit.toLowerCase()) ?? Number.NaN);
  return Number.isFinite(ms) && ms > 0 ? ms : null;
}
