import { contextFactor, fitPart, interpolated, timeFunction, type Direction } from './fit';
import type { Cell, Sample, TimeFit } from '../domain/profile';

/** How unsure a fit is of a cell, and what measuring a cell would change. Relative to the cell's time: 0.01 is 1 %. */
interface Uncertainty {
  /** What a number of rows (batch x tokens) between two of the table may hide. */
  readonly ofTable: (cell: Cell) => number;
  /** Predictive standard deviation of the context and square terms. */
  readonly ofTerms: (cell: Cell) => number;
  /** The cell counts as measured from now on. */
  readonly measure: (cell: Cell) => void;
}

const terms = ['constant', 'perRow', 'perContext', 'perRowContext', 'perContextSquare'] as const;

/** Relative residual when there are too few samples, and the least that is believed. */
const assumedNoise = 0.05;
const leastNoise = 0.002;
/** A term is believed, before any sample, to stay under this many times the time of the longest slice at the far corner of the domain. */
const priorSize = 3;
/** Between two points of the table at least this part of their difference may hide: steps that the points so far all missed. */
const leastHidden = 0.02;

/**
 * The uncertainty of forward and backward together (root of the mean of squares) after `samples`.
 *
 * Terms: sigma^2 f(x)' M^-1 f(x) / t(x)^2 with M = sum f f' / t^2 over the samples plus a weak prior, sigma the relative residual: the
 * variance whose largest value a G-optimal design minimises (Kiefer and Wolfowitz 1960; measuring where it is largest is Fedorov's 1972
 * exchange step, here one cell at a time with the Sherman-Morrison update). Table: a point between its neighbours shows by how much linear
 * interpolation over the two would have missed it. That miss, scaled to the gap, is taken as the miss inside the gap.
 * @returns null without a fit.
 */
export function profileUncertainty(domain: Domain, samples: readonly Sample[]): Uncertainty | null {
  const fit = fitPart(samples);
  if (fit === null) return null;
  const used = samples.filter(({ holdOut }) => !holdOut);
  const both = (['forward', 'backward'] as const).map((direction) => oneDirection(domain, fit[direction], used, direction));
  const together = (of: (one: Uncertainty) => number): number => Math.sqrt(both.reduce((sum, one) => sum + of(one) ** 2, 0) / both.length);
  return {
    ofTable: (cell) => together((one) => one.ofTable(cell)),
    ofTerms: (cell) => together((one) => one.ofTerms(cell)),
    measure: (cell) => both.forEach((one) => one.measure(cell)),
  };
}

function oneDirection(domain: Domain, fit: TimeFit, samples: readonly Sample[], direction: Direction): Uncertainty {
  const time = timeFunction(fit);
  const table = tableUncertainty(fit, time);
  const informing = samples.filter(({ batch, context }) => batch > 1 || context > 0);
  const errors = informing.map((sample) => {
    const ms = direction === 'forward' ? sample.forwardMs : sample.backwardMs;
    return (ms - time(sample.batch, sample.tokens, sample.context)) / ms;
  });
  const freedom = informing.length - terms.length - 1;
  const squares = errors.reduce((sum, error) => sum + error ** 2, 0);
  const sigma = freedom > 0 ? Math.max(leastNoise, Math.sqrt(squares / freedom)) : assumedNoise;

  const features = scaledFeatures(domain, fit, time);
  const inverse = Array.from({ length: terms.length + 1 }, (_, i) =>
    Array.from({ length: terms.length + 1 }, (_, j) => (i === j ? (priorSize / sigma) ** 2 : 0)),
  );
  informing.forEach((sample) => addTo(inverse, features(sample)));
  return {
    ofTable: table.at,
    ofTerms: (cell) => sigma * Math.sqrt(Math.max(0, quadratic(inverse, features(cell)))),
    measure: (cell) => {
      if (cell.context === 0) table.split(cell.batch * cell.tokens);
      if (cell.context > 0 || cell.batch > 1) addTo(inverse, features(cell));
    },
  };
}

/** f(x) / t(x), each term in units of the time of the longest slice at the far corner of the domain. */
function scaledFeatures(
  { tokens, sequence, batches }: Domain,
  fit: TimeFit,
  time: ReturnType<typeof timeFunction>,
): (cell: Cell) => number[] {
  const corner: Cell = { batch: 1, tokens, context: sequence };
  const cornerMs = time(1, tokens, 0);
  const lengths = fit.rows.tokens;
  const squares = lengths.map((length) => length ** 2);
  const last = lengths.at(-1) ?? 0;
  const most = batches.at(-1) ?? 1;
  return (cell) => {
    const { batch, context } = cell;
    const scale = cornerMs / time(batch, cell.tokens, context);
    const rows = batch * cell.tokens;
    const square = rows > last ? 0 : batch * cell.tokens ** 2 - interpolated(lengths, squares, rows);
    const inContext = terms.map((term) =>
      context > 0 ? (scale * contextFactor(term, cell)) / (batch > 1 ? most : 1) / contextFactor(term, corner) : 0,
    );
    return [...inContext, (scale * square) / tokens ** 2];
  };
}

/** M^-1 after f f' was added to M (Sherman and Morrison). */
function addTo(inverse: number[][], feature: readonly number[]): void {
  const turned = inverse.map((row) => row.reduce((sum, value, j) => sum + value * (feature[j] ?? 0), 0));
  const divisor = 1 + turned.reduce((sum, value, i) => sum + value * (feature[i] ?? 0), 0);
  inverse.forEach((row, i) => row.forEach((value, j) => (row[j] = value - ((turned[i] ?? 0) * (turned[j] ?? 0)) / divisor)));
}

function quadratic(inverse: readonly (readonly number[])[], feature: readonly number[]): number {
  return inverse.reduce((sum, row, i) => sum + (feature[i] ?? 0) * row.reduce((part, value, j) => part + value * (feature[j] ?? 0), 0), 0);
}

interface Gap {
  readonly from: number;
  readonly to: number;
  /** What may hide in its middle, ms. */
  readonly missMs: number;
}

/** Each gap of the table with what may hide in it. */
function tableGaps({ rows: { tokens: lengths, ms } }: TimeFit): readonly Gap[] {
  const rises = lengths.slice(1).map((_, i) => Math.abs((ms[i + 1] ?? 0) - (ms[i] ?? 0)));
  const missesPerToken = lengths.map((at, i) => {
    const [left, right] = [lengths[i - 1], lengths[i + 1]];
    if (left === undefined || right === undefined) return null;
    const share = (at - left) / (right - left);
    return Math.abs((ms[i] ?? 0) - (ms[i - 1] ?? 0) * (1 - share) - (ms[i + 1] ?? 0) * share) / (right - left);
  });
  return rises.map((riseMs, i): Gap => {
    const [from, to] = [lengths[i] ?? 0, lengths[i + 1] ?? 0];
    const [left, right] = [missesPerToken[i] ?? null, missesPerToken[i + 1] ?? null];
    const atEnds = (((left ?? right ?? 0) + (right ?? left ?? 0)) / 2) * (to - from);
    return { from, to, missMs: Math.max(atEnds, leastHidden * riseMs) };
  });
}

function tableUncertainty(fit: TimeFit, time: ReturnType<typeof timeFunction>) {
  let gaps = tableGaps(fit);
  return {
    at: ({ batch, tokens }: Cell): number => {
      const rows = batch * tokens;
      const gap = gaps.find(({ from, to }) => from < rows && rows < to);
      if (gap === undefined) return 0;
      const share = (rows - gap.from) / (gap.to - gap.from);
      return (4 * share * (1 - share) * gap.missMs) / time(batch, tokens, 0);
    },
    split: (rows: number): void => {
      gaps = gaps.flatMap((gap) =>
        gap.from < rows && rows < gap.to
          ? [
              { from: gap.from, to: rows, missMs: (gap.missMs * (rows - gap.from)) / (gap.to - gap.from) },
              { from: rows, to: gap.to, missMs: (gap.missMs * (gap.to - rows)) / (gap.to - gap.from) },
            ]
          : [gap],
      );
    },
  };
}

/** What the experiment may ask for. */
export interface Domain {
  /** Longest slice. */
  readonly tokens: number;
  /** Longest context + tokens. */
  readonly sequence: number;
  /** Slice lengths and contexts are multiples of this; the longest slice may be none. */
  readonly unit: number;
  /** Batch sizes, ascending, starting with 1. */
  readonly batches: readonly number[];
}
