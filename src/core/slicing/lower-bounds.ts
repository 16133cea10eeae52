import type { SliceRows } from './slice-rows';

/**
 * What is minimised: the sum of all slices plus `weight` times the slowest, over batches of `sequences` sequences composed of chunks of
 * these kinds.
 */
export interface SearchProblem {
  readonly kinds: readonly SliceRows[];
  readonly sequences: number;
  readonly weight: number;
  /** What some plan is known to reach, ms; only plans at most as slow are looked for. `Infinity`: none known. */
  readonly capMs: number;
  /** A threshold under which good plans are likely. */
  readonly hintMs: number;
}

/**
 * Where the slowest slice of a plan within reach lies: above `lowMs`, not above `highMs`; and which kinds of chunk such a plan may have.
 */
interface ThresholdBounds {
  readonly lowMs: number;
  readonly highMs: number;
  readonly useful: readonly boolean[];
  /** Floors were known, so the bounds are close. */
  readonly close: boolean;
}

/** Bounds are taken as they are when another round moves them by less than this share. */
const settled = 0.002;

/**
 * Bounds the threshold before anything is solved. A plan with slowest slice m takes at least (1 + weight) m, and at least the floor of its
 * slices under m plus weight m.
 * @param withinMs what the plan may take at most.
 */
export function thresholdBounds({ kinds, sequences, weight }: SearchProblem, withinMs: number): ThresholdBounds {
  let highMs = withinMs / (1 + weight);
  let lowMs = -1;
  const close = withinMs < Infinity && weight > 0 && kinds.every((rows) => rows.lowerBound !== null);
  if (close) {
    for (;;) {
      const next = Math.max(0, (withinMs - sequences * leastPerSequence(kinds, highMs)) / weight);
      const moved = next < highMs * (1 - settled);
      highMs = Math.min(next, highMs);
      if (!moved) break;
    }
    lowMs = raisedLow(kinds, { sequences, weight, withinMs, lowMs, highMs });
  }
  const leastMs = leastPerSequence(kinds, highMs);
  const useful = kinds.map((rows) => {
    const othersMs = (sequences - rows.sequences) * (leastMs === Infinity ? 0 : leastMs) + weight * Math.max(0, lowMs);
    return (rows.lowerBound?.(highMs, withinMs - othersMs).totalMs ?? 0) + othersMs <= withinMs;
  });
  return { lowMs, highMs, useful, close };
}

/** A lower bound on what a sequence takes in chunks of any kind with no slice above the limit, ms. */
function leastPerSequence(kinds: readonly SliceRows[], limitMs: number): number {
  return kinds.reduce((ms, rows) => Math.min(ms, lowerBoundPerSequence(rows, limitMs, ms)), Infinity);
}

/** The same of one kind; above `enoughMs` it need not be close. */
function lowerBoundPerSequence({ lowerBound, sequences }: SliceRows, limitMs: number, enoughMs: number): number {
  return (lowerBound?.(limitMs, enoughMs * sequences).totalMs ?? 0) / sequences;
}

/** Plans with a slowest slice above `lowMs` and not above `highMs` that take at most `withinMs`. */
interface WantedPlans {
  readonly sequences: number;
  readonly weight: number;
  readonly withinMs: number;
  readonly lowMs: number;
  readonly highMs: number;
}

/** A threshold that the slowest slice of a wanted plan lies above, by floors: `lowMs` or higher. */
function raisedLow(kinds: readonly SliceRows[], { sequences, weight, withinMs, lowMs, highMs }: WantedPlans): number {
  // The kind that fitted last is the first to be asked: most often it fits again.
  let fitting = kinds[0];
  const fits = (limitMs: number, aboveMs: number): boolean => {
    const mostMs = (withinMs - weight * Math.max(0, aboveMs)) / sequences;
    if (fitting !== undefined && lowerBoundPerSequence(fitting, limitMs, mostMs) <= mostMs) return true;
    fitting = kinds.find((rows) => lowerBoundPerSequence(rows, limitMs, mostMs) <= mostMs);
    return fitting !== undefined;
  };
  let low = lowMs;
  // What is ruled out below lets the next round rule out more.
  for (let before = -Infinity; low > before + settled * highMs;) {
    before = low;
    for (let high = highMs; high - Math.max(0, low) > settled * highMs;) {
      const middle = (Math.max(0, low) + high) / 2;
      if (fits(middle, low)) high = middle;
      else low = middle;
    }
  }
  return low;
}
