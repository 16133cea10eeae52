import { sum, randomNumbers } from '../../numbers';
import type { LengthShare } from '../../domain/scheme';
import { firstAtLeast } from './packing';

/** A global batch that may be drawn: how many documents of some lengths, by their index, and how likely it is. */
export interface Draw {
  readonly counts: ReadonlyMap<number, number>;
  readonly probability: number;
}

/** Global batches with their probabilities, which add up to 1. */
interface Draws {
  readonly draws: readonly Draw[];
  /** They are all that there are; else a seeded sample, each as likely. */
  readonly exact: boolean;
}

/**
 * The global batches of `documents` documents, each drawn from the lengths by itself: all of them where there are at most `most`, else
 * `most` of them, the same for the same lengths.
 */
export function drawBatches(lengths: readonly LengthShare[], documents: number, most: number): Draws {
  const total = sum(lengths.map(({ count }) => count));
  const shares = lengths.map(({ count }) => count / total);
  if (multisets(documents, shares.length) <= most) return { draws: everyDraw(shares, documents), exact: true };
  const random = randomNumbers(seed);
  let reached = 0;
  const upTo = shares.map((share) => (reached += share));
  const draws = Array.from({ length: most }, (): Draw => {
    const counts = new Map<number, number>();
    for (let document = 0; document < documents; document++) {
      const at = Math.min(firstAtLeast(upTo, random()), shares.length - 1);
      counts.set(at, (counts.get(at) ?? 0) + 1);
    }
    return { counts, probability: 1 / most };
  });
  return { draws, exact: false };
}

/** Any number will do; it is part of the answer. */
const seed = 1;

/** Ways to draw `documents` of `kinds` without order, as a float. */
function multisets(documents: number, kinds: number): number {
  let ways = 1;
  for (let kind = 1; kind < kinds; kind++) ways *= (documents + kind) / kind;
  return Math.round(ways);
}

/** Every multiset with its probability: n! prod(share^count / count!). */
function everyDraw(shares: readonly number[], documents: number): readonly Draw[] {
  const logFactorial = [0];
  for (let n = 1; n <= documents; n++) logFactorial.push((logFactorial[n - 1] ?? 0) + Math.log(n));
  const draws: Draw[] = [];
  const extend = (counts: readonly number[], left: number, log: number): void => {
    const share = shares[counts.length];
    if (share === undefined) return;
    const isLast = counts.length === shares.length - 1;
    for (let count = isLast ? left : 0; count <= left; count++) {
      const next = log + count * Math.log(share) - (logFactorial[count] ?? 0);
      if (isLast) draws.push({ counts: new Map([...counts, count].entries()), probability: Math.exp(next) });
      else extend([...counts, count], left - count, next);
    }
  };
  extend([], documents, logFactorial[documents] ?? 0);
  return draws;
}

/** A value with its probability. */
interface Weighed {
  readonly value: number;
  readonly probability: number;
}

/** The least value that so large a share of the probability does not exceed. */
export function percentile(values: readonly Weighed[], share: number): number {
  const sorted = values.toSorted((a, b) => a.value - b.value);
  let reached = 0;
  for (const { value, probability } of sorted) {
    reached += probability;
    if (reached >= share - 1e-9) return value;
  }
  return sorted.at(-1)?.value ?? NaN;
}
