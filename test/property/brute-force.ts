import { uniformLengths } from '../../src/core/slicing/baselines';
import { schemeSliceTimes, unitCount, commonUnit, type SlicingProblem } from '../../src/core/slicing/problem';
import type { BatchSlice, Scheme } from '../../src/core/domain/scheme';

/** A scheme and its latency, ms. */
export interface BruteForceOptimum {
  readonly scheme: Scheme;
  readonly latencyMs: number;
  readonly slices: number;
}

/**
 * The optimum by trying every scheme and simulating it slice by slice, stage by stage: the oracle for the solver. Chunks come in every
 * order where stages differ, and in every grouping to rounds where slices in flight are limited. Number of schemes: over all compositions
 * of the batch the product of 2^(units - 1) per chunk, so keep units x batch below about 16. Of equally fast ones (1e-12 relative) one with
 * the fewest slices.
 * @returns null when every scheme holds a forbidden slice.
 */
export function bruteForce(problem: SlicingProblem): BruteForceOptimum | null {
  const { batch, maximumBatchSlice = batch, oneScheme = false, stageFactors } = problem;
  const cuts = everyCut(problem);
  const anyOrder = stageFactors !== undefined;
  let best: BruteForceOptimum | null = null;
  const offer = (scheme: readonly BatchSlice[]): void => {
    const latencyMs = bestGrouping(scheme, problem);
    const slices = scheme.reduce((sum, { tokens }) => sum + tokens.length, 0);
    const tie = 1e-12 * latencyMs;
    if (
      latencyMs === Infinity ||
      (best !== null && (latencyMs > best.latencyMs + tie || (latencyMs >= best.latencyMs - tie && slices >= best.slices)))
    )
      return;
    best = { scheme, latencyMs, slices };
  };
  const extend = (scheme: readonly BatchSlice[], left: number, largest: number): void => {
    if (left === 0) {
      offer(scheme);
      return;
    }
    const [first] = scheme;
    for (let size = Math.min(left, largest); size >= 1; size--)
      for (const tokens of oneScheme && first !== undefined ? [first.tokens] : cuts)
        extend([...scheme, { batch: size, tokens }], left - size, anyOrder ? largest : size);
  };
  extend([], batch, maximumBatchSlice);
  return best;
}

/** The least sum over rounds, taking the chunks in order; one round where nothing limits them. */
function bestGrouping(scheme: readonly BatchSlice[], problem: SlicingProblem): number {
  const { maximumInFlight = Infinity, forwardOnly = false } = problem;
  const most = forwardOnly ? Infinity : maximumInFlight;
  if (most === Infinity) return simulatedMs(scheme, problem);
  const subsets = 2 ** scheme.length;
  const best = new Float64Array(subsets).fill(Infinity);
  best[0] = 0;
  for (let done = 0; done < subsets; done++)
    for (let round = 1; round < subsets; round++) {
      if ((round & done) !== 0) continue;
      const chunks = scheme.filter((_, index) => (round >> index) & 1);
      if (chunks.reduce((sum, { tokens }) => sum + tokens.length, 0) > most) continue;
      best[done | round] = Math.min(best[done | round] ?? Infinity, (best[done] ?? Infinity) + simulatedMs(chunks, problem));
    }
  return best[subsets - 1] ?? Infinity;
}

/** Slices one after another over the stages, each as soon as its stage and the stage before are done with it. */
function simulatedMs(chunks: readonly BatchSlice[], { cost, stages, stageFactors }: SlicingProblem): number {
  const doneMs = new Float64Array(stages);
  for (const ms of schemeSliceTimes(chunks, cost)) {
    let before = 0;
    for (let stage = 0; stage < stages; stage++) {
      before = Math.max(before, doneMs[stage] ?? 0) + (stageFactors?.[stage] ?? 1) * ms;
      doneMs[stage] = before;
    }
  }
  return doneMs[stages - 1] ?? 0;
}

/** All ways to cut the sequence at unit boundaries into slices of at least `minimumTokens`. */
function everyCut(problem: SlicingProblem): number[][] {
  const { tokens, minimumTokens = 1 } = problem;
  const unit = commonUnit(problem);
  const lengths = uniformLengths(tokens, unit, unitCount({ tokens, unit }));
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
