import { throwIfCancelled, type CancelSignal } from '../errors';
import type { AffineRows } from './affine-rows';
import { dynamicChunks, equalWorkLengths, sglangRule } from './chunk-rules';
import { schemeSliceTimes, unitCount, type SlicingProblem } from './problem';
import { rowSpans, type SliceRows, type SliceSpans } from './slice-rows';

/** Every sequence cut alike: its slices, the latency and the slowest slice, ms. */
export interface Baseline {
  readonly slices: number;
  readonly latencyMs: number;
  readonly slowestMs: number;
}

/**
 * Baselines for the optimum: every sequence by itself, all sliced alike. Latencies by the problem's objective, ms; `Infinity` where a slice
 * is forbidden.
 */
export interface Baselines {
  readonly wholeMs: number;
  /** The number of equal slices with the lowest latency, the smallest such number among equals. */
  readonly uniform: CutBaseline;
  /**
   * Slices as long as the time of the first allows, of all first ones tried the one with the lowest latency; the longest such first one
   * among equals.
   */
  readonly equalTime: CutBaseline;
  /** Slices of equal arithmetic (Seq1F1B), of all numbers of slices the fastest; null where the problem does not give its `work`. */
  readonly equalWork: CutBaseline | null;
  /**
   * Chunks as SGLang chooses them, from first chunks of 2, 2.5 and 3 times the best equal slices, as its guide advises; null unless
   * `forwardOnly`.
   */
  readonly dynamicChunks: CutBaseline | null;
}

/** A baseline and its slices. */
export interface CutBaseline extends Baseline {
  readonly tokens: readonly number[];
}

/** Sum and slowest of the slices of one sequence, ms. */
interface Series {
  readonly totalMs: number;
  readonly slowestMs: number;
}

/** Latency of a whole batch, every sequence cut alike into this many slices, ms. */
export type BatchLatency = (series: Series, slices: number) => number;

/** First lengths tried for slices of equal time, when there are more units. */
const firstLengths = 96;
/** Numbers of slices of equal work tried at most. */
const mostEqualWork = 64;
/** Latencies that differ by less than this share differ by rounding. */
const sameLatency = 1e-12;

/**
 * Lengths of `slices` slices that are equal up to one unit, longer ones first; the rest of a last broken unit is missing from the last
 * slice.
 */
export function uniformLengths(tokens: number, unit: number, slices: number): number[] {
  const units = unitCount({ tokens, unit });
  const short = Math.floor(units / slices);
  const longer = units - short * slices;
  const boundary = (index: number): number => Math.min(tokens, unit * (index * short + Math.min(index, longer)));
  return Array.from({ length: slices }, (_, index) => boundary(index + 1) - boundary(index));
}

/**
 * The baselines of a problem from the slices of single sequences. O(units) where these are functions, else O(units^2).
 * @throws CancelledError
 */
export function computeBaselines(
  problem: SlicingProblem,
  rows: SliceRows | AffineRows,
  latency: BatchLatency,
  signal: CancelSignal | undefined,
): Baselines {
  const units = unitCount(problem);
  const spans = rowSpans(rows);
  let whole: Baseline | null = null;
  let uniform: Baseline | null = null;
  for (let slices = 1; slices <= units; slices++) {
    if (slices % 64 === 0) throwIfCancelled(signal);
    const series = 'series' in rows ? seriesOfFunctions(problem, rows, slices) : seriesOfLookUps(units, slices, spans);
    const candidate = { slices, latencyMs: latency(series, slices), slowestMs: series.slowestMs };
    whole ??= candidate;
    if (uniform === null || candidate.latencyMs < uniform.latencyMs * (1 - sameLatency)) uniform = candidate;
  }
  const equal: Baseline = uniform ?? { slices: 1, latencyMs: Infinity, slowestMs: 0 };
  return {
    wholeMs: whole?.latencyMs ?? Infinity,
    uniform: { ...equal, tokens: uniformLengths(problem.tokens, problem.unit, equal.slices) },
    equalTime: bestEqualTime(problem, units, spans, latency, signal),
    equalWork: bestCut(problem, latency, equalWorkCuts(problem)),
    dynamicChunks: problem.forwardOnly === true ? bestCut(problem, latency, dynamicCuts(problem, equal.slices)) : null,
  };
}

/** The latency that the best slices do not exceed: of equal slices or of those of equal time, ms. */
export function bestEqualMs({ uniform, equalTime }: Baselines): number {
  return Math.min(uniform.latencyMs, equalTime.latencyMs);
}

function equalWorkCuts({ tokens, unit, work }: SlicingProblem): readonly (readonly number[])[] {
  if (work === undefined) return [];
  const most = Math.min(mostEqualWork, unitCount({ tokens, unit }));
  return Array.from({ length: most }, (_, index) => equalWorkLengths(tokens, index + 1, unit, work) ?? []);
}

function dynamicCuts({ tokens, unit, cost }: SlicingProblem, slices: number): readonly (readonly number[])[] {
  return [2, 2.5, 3].map((times) =>
    dynamicChunks(tokens, Math.min(tokens, (times * tokens) / slices), { ...sglangRule, multiple: unit }, (length) => cost(1, length, 0)),
  );
}

/** The fastest of some cuts of a sequence; null when none is allowed. */
function bestCut(
  { cost, minimumTokens = 1 }: SlicingProblem,
  latency: BatchLatency,
  cuts: readonly (readonly number[])[],
): CutBaseline | null {
  let best: CutBaseline | null = null;
  for (const tokens of cuts) {
    if (tokens.length === 0 || tokens.some((length) => length < minimumTokens)) continue;
    const times = schemeSliceTimes([{ batch: 1, tokens }], cost);
    const series = { totalMs: times.reduce((sum, ms) => sum + ms, 0), slowestMs: times.reduce((most, ms) => Math.max(most, ms), 0) };
    const latencyMs = latency(series, tokens.length);
    if (latencyMs < (best?.latencyMs ?? Infinity) * (1 - sameLatency))
      best = { slices: tokens.length, latencyMs, slowestMs: series.slowestMs, tokens };
  }
  return best;
}

function seriesOfLookUps(units: number, slices: number, spans: SliceSpans): Series {
  const short = Math.floor(units / slices);
  const longer = units - short * slices;
  let totalMs = 0;
  let slowestMs = 0;
  for (let index = 0, start = 0; index < slices; index++) {
    const length = index < longer ? short + 1 : short;
    const ms = spans.ms(start, length);
    totalMs += ms;
    slowestMs = Math.max(slowestMs, ms);
    start += length;
  }
  return { totalMs, slowestMs };
}

function seriesOfFunctions({ tokens, unit, cost, minimumTokens = 1 }: SlicingProblem, rows: AffineRows, slices: number): Series {
  const short = Math.floor(rows.units / slices);
  const longer = rows.units - short * slices;
  const broken = tokens % unit === 0 ? 0 : 1;
  // Without longer ones all slices are short, else the last one may still be the only short one.
  const long = rows.series(short + 1, 0, Math.min(longer, slices - broken));
  const even = rows.series(short, longer * (short + 1), Math.max(0, slices - longer - broken));
  const lastTokens = broken === 0 ? 0 : tokens - (rows.units - short) * unit;
  const lastMs = broken === 0 ? 0 : lastTokens < minimumTokens ? Infinity : cost(1, lastTokens, tokens - lastTokens);
  return { totalMs: long.totalMs + even.totalMs + lastMs, slowestMs: Math.max(long.slowestMs, even.slowestMs, lastMs) };
}

/** Slices of equal time: each as long as the time of the first lets it be (the rule of serving engines that chunk a prompt dynamically). */
function bestEqualTime(
  problem: SlicingProblem,
  units: number,
  spans: SliceSpans,
  latency: BatchLatency,
  signal: CancelSignal | undefined,
): Baselines['equalTime'] {
  let best: { readonly latencyMs: number; readonly timeMs: number; readonly slowestMs: number } | null = null;
  const tried = Math.min(units, firstLengths);
  for (let index = 0, before = 0; index < tried; index++) {
    throwIfCancelled(signal);
    const length = tried === units ? units - index : Math.round(units ** (1 - index / (tried - 1)));
    if (length === before) continue;
    before = length;
    const timeMs = spans.ms(0, length);
    const series = equalTimeSeries(units, spans, timeMs, null);
    const latencyMs = latency(series, series.slices);
    if (latencyMs < (best?.latencyMs ?? Infinity)) best = { latencyMs, timeMs, slowestMs: series.slowestMs };
  }
  if (best === null) return { slices: 1, latencyMs: Infinity, slowestMs: 0, tokens: [problem.tokens] };
  const ends: number[] = [];
  equalTimeSeries(units, spans, best.timeMs, ends);
  const tokens = ends.map((end, index) => Math.min(problem.tokens, end * problem.unit) - (ends[index - 1] ?? 0) * problem.unit);
  return { slices: tokens.length, latencyMs: best.latencyMs, slowestMs: best.slowestMs, tokens };
}

/** The longest slices that take at most `timeMs` one after another; `Infinity` when one unit takes longer. Their ends go to `ends`. */
function equalTimeSeries(units: number, spans: SliceSpans, timeMs: number, ends: number[] | null): Series & { readonly slices: number } {
  let totalMs = 0;
  let slowestMs = 0;
  let slices = 0;
  let length = 0;
  for (let start = 0; start < units; start += length) {
    length = spans.longest(start, timeMs, length);
    const ms = length === 0 ? Infinity : spans.ms(start, length);
    if (ms === Infinity) return { totalMs: Infinity, slowestMs: Infinity, slices };
    totalMs += ms;
    slices++;
    slowestMs = Math.max(slowestMs, ms);
    ends?.push(start + length);
  }
  return { totalMs, slowestMs, slices };
}
