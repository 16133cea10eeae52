import type { Scheme } from './slicing';

/**
 * Time in ms of one slice on one stage: `tokens` tokens of each of `batch` sequences after `context` earlier ones; whatever the schedule makes a stage do for
 * it (forward, backward, transfers) included. Pure, never negative nor NaN; `Infinity` forbids the slice. Need not grow with any argument.
 */
export type SliceMs = (batch: number, tokens: number, context: number) => number;

/** What is to be cut: `batch` sequences of `tokens` tokens for `stages` stages that all take `cost` (TeraPipe eq. 5 and section 3.4). */
export interface SlicingProblem {
  readonly batch: number;
  readonly tokens: number;
  /** Slices end at multiples of this many tokens; where `tokens` is no multiple, the last unit is the shorter rest. */
  readonly unit: number;
  readonly stages: number;
  readonly cost: SliceMs;
  /** Most sequences in one chunk; `batch` when left out. */
  readonly maximumBatchSlice?: number;
  /** Fewest tokens in a slice; 1 when left out. */
  readonly minimumTokens?: number;
  /** Most thresholds to solve before settling for the best so far; a bound on work, not on time. Left out: about four seconds' worth. */
  readonly maximumEvaluations?: number;
}

/** Number of units in a sequence. */
export function unitCount({ tokens, unit }: Pick<SlicingProblem, 'tokens' | 'unit'>): number {
  return Math.ceil(tokens / unit);
}

/** Objective of eq. 5 for a given scheme, ms: all slice times, and the slowest once more for every further stage. */
export interface SchemeLatency {
  readonly latencyMs: number;
  readonly totalMs: number;
  readonly slowestMs: number;
}

/** Evaluates eq. 5 for `scheme` on `stages` equal stages. */
export function latencyOf(scheme: Scheme, stages: number, cost: SliceMs): SchemeLatency {
  let totalMs = 0;
  let slowestMs = 0;
  for (const { batch, tokens: lengths } of scheme) {
    let context = 0;
    for (const tokens of lengths) {
      const ms = cost(batch, tokens, context);
      totalMs += ms;
      slowestMs = Math.max(slowestMs, ms);
      context += tokens;
    }
  }
  return { latencyMs: totalMs + (stages - 1) * slowestMs, totalMs, slowestMs };
}
