import { latencyOf, unitCount, type SlicingProblem } from './problem';
import { uniformLengths } from './baselines';
import type { BatchSlice, Scheme } from './slicing';

/** A scheme and its latency, ms. */
export interface BruteForceOptimum {
  readonly scheme: Scheme;
  readonly latencyMs: number;
}

/**
 * The optimum by trying every scheme: the oracle for the solver. Number of schemes: over all partitions of the batch the product of 2^(units - 1) per chunk, so
 * keep units x batch below about 16.
 * @returns null when every scheme holds a forbidden slice.
 */
export function bruteForce(problem: SlicingProblem): BruteForceOptimum | null {
  const cuts = everyCut(problem);
  let best: BruteForceOptimum | null = null;
  const extend = (scheme: readonly BatchSlice[], left: number, largest: number): void => {
    if (left === 0) {
      const { latencyMs } = latencyOf(scheme, problem.stages, problem.cost);
      if (latencyMs < (best?.latencyMs ?? Infinity)) best = { scheme, latencyMs };
      return;
    }
    for (let batch = Math.min(left, largest); batch >= 1; batch--)
      for (const tokens of cuts) extend([...scheme, { batch, tokens }], left - batch, batch);
  };
  extend([], problem.batch, problem.maximumBatchSlice ?? problem.batch);
  return best;
}

/** All ways to cut the sequence at unit boundaries into slices of at least `minimumTokens`. */
function everyCut(problem: SlicingProblem): number[][] {
  const { tokens, unit, minimumTokens = 1 } = problem;
  const lengths = uniformLengths(tokens, unit, unitCount(problem));
  const grow = (index: number): number[][] => {
    const length = lengths[index];
    if (length === undefined) return [[]];
    return grow(index + 1).flatMap(([next, ...rest]) =>
      next === undefined
        ? [[length]]
        : [
            [length, next, ...rest],
            [length + next, ...rest],
          ],
    );
  };
  return grow(0).filter((cut) => cut.every((length) => length >= minimumTokens));
}
