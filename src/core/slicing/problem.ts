import { leastCommonMultiple } from '../numbers';
import type { SliceWork } from './chunk-rules';
import type { Scheme } from '../domain/scheme';

/**
 * Time in ms of one slice on one stage: `tokens` tokens of each of `batch` sequences after `context` earlier ones; whatever the schedule
 * makes a stage do for it (forward, backward, transfers) included. Pure, never negative nor NaN; `Infinity` forbids the slice. Need not
 * grow with any argument.
 */
export type SliceMs = (batch: number, tokens: number, context: number) => number;

/** What is to be cut: `batch` sequences of `tokens` tokens for `stages` stages that all take `cost` (TeraPipe eq. 5 and section 3.4). */
export interface SlicingProblem {
  readonly batch: number;
  readonly tokens: number;
  /** Slices end at multiples of this many tokens; where `tokens` is not a multiple, the last unit is the shorter rest. */
  readonly unit: number;
  readonly stages: number;
  readonly cost: SliceMs;
  /** Most sequences in one chunk; `batch` when left out. */
  readonly maximumBatchSlice?: number;
  /** Fewest tokens in a slice; 1 when left out. */
  readonly minimumTokens?: number;
  /**
   * Contexts between which `cost` is affine in the context for every batch and length; empty: everywhere (TeraPipe eq. 9). The solver then
   * needs two numbers per length instead of one per slice, and checks the middle of every piece. A function gives those of chunks of this
   * many sequences. Left out: nothing is known of the cost.
   */
  readonly contextKinks?: readonly number[] | ((batch: number) => readonly number[]);
  /**
   * `cost` never falls where a slice has more sequences, tokens or context. The solver then does not ask for slices of several sequences
   * that are too long for any plan as fast as the best baseline; it checks what it asks for.
   */
  readonly grows?: boolean;
  /** Slices are multiples of these numbers of tokens as well, but the rest at the end: the tile of a kernel, the tensor-parallel size. */
  readonly multiples?: readonly number[];
  /** How much longer than `cost` a slice takes on each stage, `stages` entries above 0; all 1 when left out. */
  readonly stageFactors?: readonly number[];
  /**
   * Most slices in flight: begun and, with their backward, not done. TeraPipe runs all forwards before all backwards, so a batch of more
   * slices runs in rounds, each of which fills and drains the pipeline. Nothing waits for a backward when `forwardOnly`, so it does not
   * bind then. Left out: no limit.
   */
  readonly maximumInFlight?: number;
  /** `cost` is of the forward only (prefill): the latency is the time to the first token. */
  readonly forwardOnly?: boolean;
  /** All chunks of the batch are cut at the same tokens, as the published runtime demands. */
  readonly oneScheme?: boolean;
  /** Arithmetic of a slice, for the baseline of slices of equal work. */
  readonly work?: SliceWork;
  /** Share of the latency at which the gap to the bound is small enough; 0 when left out: only a proof is. */
  readonly tolerance?: number;
  /** Most thresholds to solve before settling for the best so far; a bound on work, not on time. Left out: some seconds' worth. */
  readonly maximumEvaluations?: number;
}

/**
 * The time of one slice, ms.
 * @throws RangeError when it is negative or NaN: a bug of the cost function.
 */
export function checkedMs(cost: SliceMs, batch: number, tokens: number, context: number): number {
  const ms = cost(batch, tokens, context);
  if (!(ms >= 0)) throw noTime(ms, batch, tokens, context);
  return ms;
}

/** What to throw when a slice time is none. */
export function noTime(ms: number, batch: number, tokens: number, context: number): RangeError {
  return new RangeError(`slice time of batch ${batch}, ${tokens} tokens after ${context} is ${ms}`);
}

/**
 * Holds a cost that was declared to grow to its word.
 * @throws RangeError where a longer slice takes less than a shorter one by more than rounding.
 */
export function requireGrowth({ grows = false }: SlicingProblem, shorterMs: number, ms: number, tokens: number, context: number): void {
  if (grows && ms < shorterMs * (1 - rounding))
    throw new RangeError(`slice times fall at ${tokens} tokens after ${context}: they do not grow`);
}

/** Relative deviation that passes for rounding. */
const rounding = 1e-9;

/** Number of units in a sequence. */
export function unitCount({ tokens, unit }: Pick<SlicingProblem, 'tokens' | 'unit'>): number {
  return Math.ceil(tokens / unit);
}

/** Tokens between unit boundaries: the least common multiple of `unit` and `multiples`, or something longer than the sequence. */
export function commonUnit({ unit, tokens, multiples = [] }: Pick<SlicingProblem, 'unit' | 'tokens' | 'multiples'>): number {
  let common = unit;
  for (const multiple of multiples) {
    if (common >= tokens) break;
    common = leastCommonMultiple(common, multiple);
  }
  return common;
}

/** @throws RangeError for sizes that are not positive integers, and for factors and tolerances out of range. */
export function requireSizes(problem: SlicingProblem): void {
  const { batch, tokens, unit, stages, stageFactors, tolerance = 0 } = problem;
  const { maximumBatchSlice = 1, minimumTokens = 1, maximumInFlight = 1, maximumEvaluations = 1 } = problem;
  const sizes = { batch, tokens, unit, stages, maximumBatchSlice, minimumTokens, maximumInFlight, maximumEvaluations };
  const multiples = (problem.multiples ?? []).map((multiple) => ['multiples', multiple] as const);
  for (const [name, value] of [...Object.entries(sizes), ...multiples])
    if (!Number.isSafeInteger(value) || value < 1) throw new RangeError(`${name} must be a positive integer, not ${value}`);
  if (minimumTokens > tokens) throw new RangeError(`minimumTokens ${minimumTokens} exceeds tokens ${tokens}`);
  if (stageFactors !== undefined && (stageFactors.length !== stages || !stageFactors.every((factor) => factor > 0 && factor < Infinity)))
    throw new RangeError('stageFactors must be a positive number for every stage');
  if (!(tolerance >= 0 && tolerance < 1)) throw new RangeError(`tolerance must be at least 0 and below 1, not ${tolerance}`);
}

/** Times of all slices of a scheme in order, ms. */
export function schemeSliceTimes(scheme: Scheme, cost: SliceMs): Float64Array {
  const times = new Float64Array(scheme.reduce((slices, { tokens }) => slices + tokens.length, 0));
  let index = 0;
  for (const { batch, tokens: lengths } of scheme) {
    let context = 0;
    for (const tokens of lengths) {
      times[index++] = cost(batch, tokens, context);
      context += tokens;
    }
  }
  return times;
}
