import { median } from '../numbers';
import { leastSquares, type LinearFit } from './least-squares';
import type { Cell, FitError, PartFit, Sample, TimeFit } from '../domain/profile';

/** Which of the two times of a sample. */
export type Direction = 'forward' | 'backward';

type ContextTerm = keyof TimeFit['context'];

/** In the order in which few samples are spent on them. */
const bilinearTerms: readonly ContextTerm[] = ['perRowContext', 'constant', 'perContext', 'perRow'];

/** With fewer samples than this the square context term is not tried. */
const fewestForSquare = 8;
/** The square context term must lower the mean leave-one-out error to this fraction of the one without it. */
const earned = 0.9;
/** Rows keep at least this part of the time of a whole slice: attention over the slice itself is not all there is. */
const leastRows = 0.05;
/** A slice with context takes at least this part of the time of the same slice without: no noise in the context terms may make it free. */
const leastWithContext = 0.5;
/** Huber's constant: residuals beyond this many standard deviations count less (95 % efficiency on normal noise). */
const huber = 1.345;
const reweightings = 4;
/** Leaving out one sample in turn stops at this many, evenly chosen, and at this many samples fitted in all. */
const mostLeftOut = 100;
const mostRefitted = 50_000;

/**
 * `fit` as a function of batch, tokens and context, ms; a binary search and a few multiplications. Never negative: rows and square are not,
 * and with context the time is at least half of that without.
 */
export function timeFunction({ rows, square, context: terms }: TimeFit): (batch: number, tokens: number, context: number) => number {
  const lengths = Float64Array.from(rows.tokens);
  const slopes = segmentSlopes(rows.tokens, rows.ms);
  const times = Float64Array.from(rows.ms);
  const first = lengths[0] ?? 0;
  const { constant, perRow, perContext, perRowContext, perContextSquare } = terms;
  return (batch, tokens, context) => {
    const n = batch * tokens;
    let low = 0;
    if (n > first) {
      let high = lengths.length;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if ((lengths[middle] ?? 0) <= n) low = middle;
        else high = middle;
      }
    }
    const along = n > first ? (n - (lengths[low] ?? 0)) * (slopes[low] ?? 0) : 0;
    const withoutContext = (times[low] ?? 0) + along + square * n * tokens;
    if (context <= 0) return withoutContext;
    const perSequence = perContext + perContextSquare * context;
    const ms = withoutContext + constant + perRow * n + (perSequence * batch + perRowContext * n) * context;
    return Math.max(ms, leastWithContext * withoutContext);
  };
}

/**
 * Contexts between which `timeFunction` is affine in the context for slices of a batch and length: 1, as only slices with context take the
 * context terms, and where the least time of a slice with context begins or ceases to hold. Null with a square term of the context.
 */
export function timeKinks(fit: TimeFit): ((batch: number, tokens: number) => readonly number[]) | null {
  const { constant, perRow, perContext, perRowContext, perContextSquare } = fit.context;
  if (perContextSquare !== 0) return null;
  const fittedTime = timeFunction(fit);
  return (batch, tokens) => {
    const n = batch * tokens;
    const rise = perContext * batch + perRowContext * n;
    const above = (1 - leastWithContext) * fittedTime(batch, tokens, 0) + constant + perRow * n;
    return rise === 0 ? [1] : [1, -above / rise];
  };
}

/** Slope of each segment; from the last point on the last segment's, or level if that falls (then it is noise). */
function segmentSlopes(lengths: readonly number[], times: readonly number[]): Float64Array {
  const slopes = new Float64Array(lengths.length);
  for (let i = 0; i + 1 < lengths.length; i++)
    slopes[i] = ((times[i + 1] ?? 0) - (times[i] ?? 0)) / ((lengths[i + 1] ?? 0) - (lengths[i] ?? 0));
  if (lengths.length > 1) slopes[lengths.length - 1] = Math.max(0, slopes[lengths.length - 2] ?? 0);
  return slopes;
}

/**
 * Forward and backward fitted to the samples that are not held out.
 * @returns null with fewer than two lengths of batch 1 without context: there is no table then.
 */
export function fitPart(samples: readonly Sample[]): PartFit | null {
  const forward = fitTimes(timed(samples, 'forward'));
  const backward = fitTimes(timed(samples, 'backward'));
  return forward === null || backward === null ? null : { forward, backward };
}

interface TimedCell extends Cell {
  readonly ms: number;
}

function timed(samples: readonly Sample[], direction: Direction): TimedCell[] {
  return samples
    .filter(({ holdOut }) => !holdOut)
    .map(({ batch, tokens, context, forwardMs, backwardMs }) => ({
      batch,
      tokens,
      context,
      ms: direction === 'forward' ? forwardMs : backwardMs,
    }));
}

interface Table {
  readonly tokens: readonly number[];
  readonly ms: readonly number[];
}

const noContext: TimeFit['context'] = { constant: 0, perRow: 0, perContext: 0, perRowContext: 0, perContextSquare: 0 };

/**
 * Table of slices without context, then the square term, then the context terms on what the two leave over. The square term comes from
 * batches (the same rows as one sequence and as several differ only by it); without them it is half the slope of the context, since of a
 * slice's own keys a token sees half on average.
 */
function fitTimes(cells: readonly TimedCell[]): TimeFit | null {
  const whole = leastTimes(cells.filter(({ batch, context }) => batch === 1 && context === 0));
  if (whole.tokens.length < 2) return null;
  const withContext = cells.filter(({ context }) => context > 0);
  const flat = rowsWith(whole, 0, cells);
  const square = bounded(squareFromBatches(whole, cells) ?? fitContext(flat, 0, withContext).perRowContext / 2, 0, largestSquare(whole));
  const rows = rowsWith(whole, square, cells);
  return { rows, square, context: fitContext(rows, square, withContext) };
}

/** Least time of each number of rows, ascending. */
function leastTimes(cells: readonly TimedCell[]): Table {
  const least = new Map<number, number>();
  for (const { batch, tokens, ms } of cells) least.set(batch * tokens, Math.min(ms, least.get(batch * tokens) ?? Infinity));
  const points = [...least].sort(([a], [b]) => a - b);
  return { tokens: points.map(([tokens]) => tokens), ms: points.map(([, ms]) => ms) };
}

/** The table without the square term. Beyond the longest slice it continues through larger batches, where they were measured. */
function rowsWith(whole: Table, square: number, cells: readonly TimedCell[]): Table {
  const last = whole.tokens.at(-1) ?? 0;
  const beyond = leastTimes(
    cells
      .filter(({ batch, tokens, context }) => context === 0 && batch > 1 && batch * tokens > last)
      .map((cell) => ({ ...cell, ms: cell.ms - square * cell.batch * cell.tokens ** 2 }))
      .filter(({ ms }) => ms > 0),
  );
  return {
    tokens: [...whole.tokens, ...beyond.tokens],
    ms: [...whole.ms.map((ms, i) => ms - square * (whole.tokens[i] ?? 0) ** 2), ...beyond.ms],
  };
}

/** Weighted least squares on batches whose rows lie inside the table; null where none determines it. */
function squareFromBatches(whole: Table, cells: readonly TimedCell[]): number | null {
  const last = whole.tokens.at(-1) ?? 0;
  const inside = cells.filter(({ batch, tokens, context }) => context === 0 && batch > 1 && batch * tokens <= last);
  const squares = whole.tokens.map((tokens) => tokens ** 2);
  let [numerator, denominator] = [0, 0];
  for (const { batch, tokens, ms } of inside) {
    const lever = (batch * tokens ** 2 - interpolated(whole.tokens, squares, batch * tokens)) / ms;
    numerator += lever * ((ms - interpolated(whole.tokens, whole.ms, batch * tokens)) / ms);
    denominator += lever ** 2;
  }
  return denominator > 0 ? numerator / denominator : null;
}

/** Linear between ascending points; the first and last value beyond them. */
export function interpolated(points: readonly number[], values: readonly number[], at: number): number {
  let [next, end] = [0, points.length];
  while (next < end) {
    const middle = (next + end) >> 1;
    if ((points[middle] ?? 0) < at) next = middle + 1;
    else end = middle;
  }
  if (next === 0 || next === points.length) return values.at(next === 0 ? 0 : -1) ?? 0;
  const [left, right] = [points[next - 1] ?? 0, points[next] ?? 0];
  const share = (at - left) / (right - left);
  return (values[next - 1] ?? 0) * (1 - share) + (values[next] ?? 0) * share;
}

function largestSquare({ tokens, ms }: Table): number {
  return (1 - leastRows) * tokens.reduce((least, n, i) => Math.min(least, (ms[i] ?? 0) / n ** 2), Infinity);
}

function bounded(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}

function fitContext(rows: Table, square: number, cells: readonly TimedCell[]): TimeFit['context'] {
  const [first] = cells;
  if (first === undefined) return noContext;
  const withoutContext = timeFunction({ rows, square, context: noContext });
  const residuals = cells.map(({ batch, tokens, ms }) => ms - withoutContext(batch, tokens, 0));
  const few = bilinearTerms.slice(0, Math.ceil(cells.length / 2));
  const plain = robustFit(few, cells, residuals);
  if (cells.length < fewestForSquare) return contextFit(few, plain);
  const more: readonly ContextTerm[] = [...few, 'perContextSquare'];
  const squared = robustFit(more, cells, residuals);
  return leftOutError(squared, cells) < earned * leftOutError(plain, cells) ? contextFit(more, squared) : contextFit(few, plain);
}

/** What a term's coefficient is multiplied with. */
export function contextFactor(term: ContextTerm, { batch, tokens, context }: Cell): number {
  switch (term) {
    case 'constant':
      return 1;
    case 'perRow':
      return batch * tokens;
    case 'perContext':
      return batch * context;
    case 'perRowContext':
      return batch * tokens * context;
    case 'perContextSquare':
      return batch * context ** 2;
  }
}

/**
 * Least squares of relative residuals, reweighted after Huber, so that a cell that a burst of noise hit in every round does not bend the
 * rest.
 */
function robustFit(terms: readonly ContextTerm[], cells: readonly TimedCell[], residuals: readonly number[]): LinearFit {
  const rows = cells.map((cell) => terms.map((term) => contextFactor(term, cell)));
  const relative = cells.map(({ ms }) => 1 / ms);
  let fit = leastSquares(rows, residuals, relative);
  for (let pass = 0; pass < reweightings && cells.length >= 2 * terms.length; pass++) {
    const errors = fit.residuals.map((residual, i) => Math.abs(residual * (relative[i] ?? 0)));
    const limit = (huber * median(errors)) / 0.6745;
    if (!(limit > 1e-9)) return fit;
    const weights = errors.map((error, i) => (relative[i] ?? 0) * Math.sqrt(Math.min(1, limit / error)));
    fit = leastSquares(rows, residuals, weights);
  }
  return fit;
}

/** Mean relative leave-one-out error by the hat matrix: residual / (1 - leverage). */
function leftOutError({ residuals, leverages }: LinearFit, cells: readonly TimedCell[]): number {
  const sum = cells.reduce((total, { ms }, i) => total + Math.abs((residuals[i] ?? 0) / ms) / Math.max(1 - (leverages[i] ?? 0), 1e-6), 0);
  const mean = sum / cells.length;
  return mean < 1e-9 ? 0 : mean;
}

function contextFit(terms: readonly ContextTerm[], { coefficients }: LinearFit): TimeFit['context'] {
  return { ...noContext, ...Object.fromEntries(terms.map((term, i) => [term, coefficients[i] ?? 0])) };
}

/**
 * Error of `fit` on the held-out samples; where there are none, by fitting again without each sample in turn (at most 100, fewer of
 * thousands, evenly chosen; the shortest and the longest slice stay, since what lies beyond them is extrapolated).
 * @returns null when neither is possible.
 */
export function fitErrors(fit: PartFit, samples: readonly Sample[]): { readonly forward: FitError; readonly backward: FitError } | null {
  const heldOut = samples.filter(({ holdOut }) => holdOut);
  const judged = heldOut.length > 0 ? heldOut.map((sample) => ({ sample, fit })) : leftOut(samples);
  if (judged.length === 0) return null;
  const method = heldOut.length > 0 ? 'hold-out' : 'leave-one-out';
  const fitError = (direction: Direction): FitError => {
    const percents = judged.map(({ sample, fit: part }) => {
      const measuredMs = direction === 'forward' ? sample.forwardMs : sample.backwardMs;
      const fittedMs = timeFunction(part[direction])(sample.batch, sample.tokens, sample.context);
      return 100 * Math.abs(fittedMs / measuredMs - 1);
    });
    const meanPercent = percents.reduce((sum, percent) => sum + percent, 0) / percents.length;
    return { meanPercent, maxPercent: percents.reduce((most, percent) => Math.max(most, percent)), cells: percents.length, method };
  };
  return { forward: fitError('forward'), backward: fitError('backward') };
}

function leftOut(samples: readonly Sample[]): { readonly sample: Sample; readonly fit: PartFit }[] {
  const rows = samples.filter(({ context }) => context === 0).map(({ batch, tokens }) => batch * tokens);
  const [shortest, longest] = [rows.reduce((a, b) => Math.min(a, b), Infinity), rows.reduce((a, b) => Math.max(a, b), 0)];
  const inner = samples.filter(({ batch, tokens, context }) => context > 0 || (batch * tokens > shortest && batch * tokens < longest));
  const count = Math.min(inner.length, mostLeftOut, Math.ceil(mostRefitted / samples.length));
  const chosen = Array.from({ length: count }, (_, i) => inner[Math.floor((i * inner.length) / count)]).filter(
    (sample) => sample !== undefined,
  );
  return chosen.flatMap((sample) => {
    const fit = fitPart(samples.filter((other) => other !== sample));
    return fit === null ? [] : [{ sample, fit }];
  });
}
