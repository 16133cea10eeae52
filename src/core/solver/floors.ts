import type { SearchProblem } from './search';
import type { SliceRows } from './slice-rows';

/** Where the slowest slice of a plan within reach lies: above `lowMs`, not above `highMs`; and which kinds of chunk such a plan may have. */
export interface ThresholdBounds {
  readonly lowMs: number;
  readonly highMs: number;
  readonly useful: readonly boolean[];
  /** Floors were known, so the bounds are close. */
  readonly close: boolean;
}

/** Bounds are taken as they are when another round moves them by less than this share. */
const settled = 0.002;

/**
 * Bounds the threshold before anything is solved. A plan with slowest slice m takes at least (1 + weight) m, and at least the floor of its slices under m plus weight m.
 * @param withinMs what the plan may take at most.
 */
export function thresholdBounds({ kinds, sequences, weight }: SearchProblem, withinMs: number): ThresholdBounds {
  const perSequence = ({ floor, sequences: size }: SliceRows, limitMs: number): number => (floor?.(limitMs).totalMs ?? 0) / size;
  const least = (limitMs: number): number => kinds.reduce((ms, rows) => Math.min(ms, perSequence(rows, limitMs)), Infinity);
  let highMs = withinMs / (1 + weight);
  let lowMs = -1;
  const close = withinMs < Infinity && weight > 0 && kinds.every((rows) => rows.floor !== null);
  if (close) {
    for (;;) {
      const next = Math.max(0, (withinMs - sequences * least(highMs)) / weight);
      const moved = next < highMs * (1 - settled);
      highMs = Math.min(next, highMs);
      if (!moved) break;
    }
    // The last one that still fits is the first to be asked: most often it fits again.
    let fitting = kinds[0];
    const fits = (limitMs: number, aboveMs: number): boolean => {
      const mostMs = (withinMs - weight * Math.max(0, aboveMs)) / sequences;
      if (fitting !== undefined && perSequence(fitting, limitMs) <= mostMs) return true;
      fitting = kinds.find((rows) => perSequence(rows, limitMs) <= mostMs);
      return fitting !== undefined;
    };
    // What is ruled out below lets the next round rule out more.
    for (let beforeMs = -Infinity; lowMs > beforeMs + settled * highMs;) {
      beforeMs = lowMs;
      for (let high = highMs; high - Math.max(0, lowMs) > settled * highMs;) {
        const middle = (Math.max(0, lowMs) + high) / 2;
        if (fits(middle, lowMs)) high = middle;
        else lowMs = middle;
      }
    }
  }
  const leastMs = least(highMs);
  const useful = kinds.map(
    (rows) =>
      (rows.floor?.(highMs).totalMs ?? 0) + (sequences - rows.sequences) * (leastMs === Infinity ? 0 : leastMs) + weight * Math.max(0, lowMs) <=
      withinMs,
  );
  return { lowMs, highMs, useful, close };
}
