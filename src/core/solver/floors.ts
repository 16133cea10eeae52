import type { SearchProblem } from './search';

/** Where the slowest slice of a plan within reach lies: above `lowMs`, not above `highMs`; and which kinds of chunk such a plan may have. */
export interface ThresholdBounds {
  readonly lowMs: number;
  readonly highMs: number;
  readonly useful: readonly boolean[];
  /** Floors were known, so the bounds are close. */
  readonly close: boolean;
}

/** Bounds are taken as they are when another round moves them by less than this share. */
const settled = 0.01;
const rounds = 20;

/**
 * Bounds the threshold before anything is solved. A plan with slowest slice m takes at least (1 + weight) m, and at least the floor of its slices under m plus weight m.
 * @param withinMs what the plan may take at most.
 */
export function thresholdBounds({ kinds, sequences, weight }: SearchProblem, withinMs: number): ThresholdBounds {
  const perSequence = (limitMs: number): number =>
    kinds.reduce((least, rows) => Math.min(least, (rows.floorMs?.(limitMs) ?? 0) / rows.sequences), Infinity);
  const floor = (limitMs: number): number => sequences * perSequence(limitMs);
  let highMs = withinMs / (1 + weight);
  let lowMs = -1;
  const close = withinMs < Infinity && weight > 0 && kinds.every((rows) => rows.floorMs !== null);
  if (close) {
    for (let round = 0; round < rounds; round++) {
      const next = (withinMs - floor(highMs)) / weight;
      if (next >= highMs * (1 - settled)) break;
      highMs = Math.max(0, next);
    }
    for (let round = 0; round < 2; round++) {
      let high = highMs;
      for (let halving = 0; halving < rounds; halving++) {
        const middle = (Math.max(0, lowMs) + high) / 2;
        if (floor(middle) + weight * Math.max(0, lowMs) > withinMs) lowMs = middle;
        else high = middle;
      }
    }
  }
  const leastMs = perSequence(highMs);
  const useful = kinds.map(
    (rows) =>
      (rows.floorMs?.(highMs) ?? 0) + (sequences - rows.sequences) * (leastMs === Infinity ? 0 : leastMs) + weight * Math.max(0, lowMs) <=
      withinMs,
  );
  return { lowMs, highMs, useful, close };
}
