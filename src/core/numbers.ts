/** Of no numbers 0. */
export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** The largest of any number of values, which `Math.max(...values)` takes only some 100,000 of. -Infinity of none, NaN where one is. */
export function maximum(values: Iterable<number>): number {
  let most = -Infinity;
  for (const value of values) most = Math.max(most, value);
  return most;
}

/** As `maximum`, the smallest: Infinity of none. */
export function minimum(values: Iterable<number>): number {
  let least = Infinity;
  for (const value of values) least = Math.min(least, value);
  return least;
}

/** The arithmetic mean; 0 of nothing. */
export function mean(values: ArrayLike<number>): number {
  return values.length === 0 ? 0 : sum(Array.from(values)) / values.length;
}

/** The middle value, or the mean of the two; NaN of nothing. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[half] ?? NaN) : ((sorted[half - 1] ?? NaN) + (sorted[half] ?? NaN)) / 2;
}

/** The middle value, of an even number of values the lower of the two: one of the values. NaN of nothing. */
export function lowMedian(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value below which `share` of a list lies, one of the values. NaN of nothing. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(share * (sorted.length - 1))] ?? NaN;
}

/** Divisors of a positive integer, ascending. */
export function listDivisors(count: number): number[] {
  const small: number[] = [];
  const large: number[] = [];
  for (let divisor = 1; divisor * divisor <= count; divisor++) {
    if (count % divisor !== 0) continue;
    small.push(divisor);
    if (divisor !== count / divisor) large.unshift(count / divisor);
  }
  return [...small, ...large];
}

/** The greatest divisor of a positive integer that is at most a number, in as many steps as that; 1 where the number is less than 1. */
export function greatestDivisor(count: number, most: number): number {
  for (let divisor = Math.min(count, Math.floor(most)); divisor > 1; divisor--) if (count % divisor === 0) return divisor;
  return 1;
}

/** Greatest common divisor of two positive integers. */
export function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

/** Least common multiple of two positive integers. */
export function leastCommonMultiple(a: number, b: number): number {
  return (a / greatestCommonDivisor(a, b)) * b;
}

/**
 * Numbers from 0 (included) to 1 (not included), the same for the same seed. Mulberry32 (Tommy Ettinger, public domain): 32 bits of state,
 * enough to place and order cells.
 */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}
