import { throwIfCancelled, type CancelSignal } from '../errors';
import { pathGrowth } from './flow-shop';
import { composeRounds, type Round, type RoundsResult } from './rounds';
import { roundingSlack, type FoundScheme } from './search';
import { chunkSliceTimes, type SliceRows } from './slice-rows';

interface TrialProblem {
  /** Chunks of 1, 2, ... sequences. */
  readonly kinds: readonly SliceRows[];
  readonly sequences: number;
  readonly factors: readonly number[];
  /** Most slices in a round. */
  readonly maximumSlices: number;
}

/** Cuts times orders of the batch's chunks that are tried at most, as a power of two. */
const mostTried = 17;

/** Whether there are few enough cuts and orders to try them all. */
export function mayTryAll({ kinds, sequences }: Pick<TrialProblem, 'kinds' | 'sequences'>): boolean {
  return (kinds[0]?.units ?? 0) + sequences <= mostTried;
}

/**
 * All chunks cut at the same tokens, in rounds of few slices, on stages that differ: tries every cut with every sequence of chunks for
 * every round. 2^(units + sequences) at most.
 * @throws CancelledError
 */
export function trySharedCuts(problem: TrialProblem, signal: CancelSignal | undefined): RoundsResult | null {
  const units = problem.kinds[0]?.units ?? 0;
  let best: RoundsResult | null = null;
  for (let mask = 0; mask < 2 ** (units - 1); mask++) {
    throwIfCancelled(signal);
    const ends = Uint32Array.from({ length: units }, (_, index) => index + 1).filter(
      (end) => end === units || ((mask >> (end - 1)) & 1) === 1,
    );
    if (ends.length > problem.maximumSlices) continue;
    const rounds = roundsOfCut(problem, ends);
    const apart = composeRounds(rounds);
    const whole = rounds.at(-1)?.plan ?? null;
    // Of equals one round of all.
    const found =
      whole !== null && whole.objectiveMs <= apart.objectiveMs * (1 + roundingSlack) ? { ...apart, rounds: [whole.chunks] } : apart;
    if (found.rounds !== null && found.objectiveMs < (best?.objectiveMs ?? Infinity)) best = found;
  }
  return best;
}

/** The best round of every number of sequences with this cut. */
function roundsOfCut({ kinds, sequences, factors, maximumSlices }: TrialProblem, ends: Uint32Array): Round[] {
  const together = Math.floor(maximumSlices / ends.length);
  const times = kinds.map((rows) => chunkSliceTimes(kinds, [{ sequences: rows.sequences, ends }]));
  const { size, grow } = pathGrowth(factors);
  const plans: Round['plan'][] = Array.from({ length: sequences }, () => null);
  const extend = (state: Float64Array, sizes: readonly number[], done: number): void => {
    if (done > 0) {
      const objectiveMs = state[size - 1] ?? Infinity;
      if (objectiveMs < (plans[done - 1]?.objectiveMs ?? Infinity))
        plans[done - 1] = { objectiveMs, chunks: sizes.map((each): FoundScheme['chunks'][number] => ({ sequences: each, ends })) };
    }
    if (sizes.length === together) return;
    for (const [index, own] of times.entries()) {
      if (done + index + 1 > sequences || own.some((ms) => ms === Infinity)) continue;
      const next = state.slice();
      for (const ms of own) grow(next, ms, next);
      extend(next, [...sizes, index + 1], done + index + 1);
    }
  };
  extend(new Float64Array(size), [], 0);
  return plans.map((plan) => ({ plan, boundMs: plan?.objectiveMs ?? Infinity, evaluations: 0 }));
}
