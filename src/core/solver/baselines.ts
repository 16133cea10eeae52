import { throwIfCancelled, type CancelSignal } from '../errors';
import { unitCount, type SliceMs, type SlicingProblem } from './problem';
import type { Scheme } from './slicing';

/** What the optimum is compared with: sequence by sequence, whole or in equal slices. Latencies by eq. 5, ms. */
export interface Baselines {
  readonly wholeMs: number;
  /** The number of equal slices with the lowest latency, the smallest such number among equals. */
  readonly uniform: { readonly slices: number; readonly latencyMs: number; readonly slowestMs: number };
}

/** Lengths of `slices` slices that are equal up to one unit, longer ones first; the rest of a last broken unit is missing from the last slice. */
export function uniformLengths(tokens: number, unit: number, slices: number): number[] {
  const units = unitCount({ tokens, unit });
  const short = Math.floor(units / slices);
  const longer = units - short * slices;
  const boundary = (index: number): number => Math.min(tokens, unit * (index * short + Math.min(index, longer)));
  return Array.from({ length: slices }, (_, index) => boundary(index + 1) - boundary(index));
}

/** Every sequence by itself in `slices` equal slices: `[(1, [l, ...])] * batch`. */
export function uniformScheme({ batch, tokens, unit }: Pick<SlicingProblem, 'batch' | 'tokens' | 'unit'>, slices: number): Scheme {
  const lengths = uniformLengths(tokens, unit, slices);
  return Array.from({ length: batch }, () => ({ batch: 1, tokens: lengths }));
}

/** The whole sequence and the best number of equal slices, over all numbers of slices no shorter than `minimumTokens`. O(units^2) calls of `cost`. Throws CancelledError. */
export function baselinesOf(problem: Omit<SlicingProblem, 'cost'>, cost: SliceMs, signal?: CancelSignal): Baselines {
  const { batch, tokens, unit, stages, minimumTokens = 1 } = problem;
  const latency = (lengths: readonly number[]): { latencyMs: number; slowestMs: number } => {
    let totalMs = 0;
    let slowestMs = 0;
    let context = 0;
    for (const length of lengths) {
      const ms = cost(1, length, context);
      totalMs += ms;
      slowestMs = Math.max(slowestMs, ms);
      context += length;
    }
    return { latencyMs: batch * totalMs + (stages - 1) * slowestMs, slowestMs };
  };
  const whole = latency([tokens]);
  let uniform = { slices: 1, ...whole };
  const units = unitCount(problem);
  for (let slices = 2; slices <= units; slices++) {
    throwIfCancelled(signal);
    const lengths = uniformLengths(tokens, unit, slices);
    if (lengths.some((length) => length < minimumTokens)) continue;
    const candidate = latency(lengths);
    if (candidate.latencyMs < uniform.latencyMs) uniform = { slices, ...candidate };
  }
  return { wholeMs: whole.latencyMs, uniform };
}
