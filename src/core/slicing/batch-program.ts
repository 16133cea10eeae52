import type { ChunkSlices } from './token-program';

/** Section 3.4: batches of 0..n sequences composed of chunks, an unbounded knapsack. n + 1 entries each. */
export interface BatchProgram {
  /** Cheapest sum of slices for this many sequences, ms, and the fewest slices that reach it. */
  readonly totals: Float64Array;
  readonly counts: Float64Array;
  /** Which kind of chunk comes last. */
  readonly last: Uint32Array;
}

/** Composes batches of up to `sequences` sequences of chunks of `sizes[k]` sequences cut as `cuts[k]`. O(sequences x kinds). */
export function composeBatch(sequences: number, sizes: readonly number[], cuts: readonly ChunkSlices[]): BatchProgram {
  const totals = new Float64Array(sequences + 1);
  const counts = new Float64Array(sequences + 1);
  const last = new Uint32Array(sequences + 1);
  const usable = cuts.flatMap(({ totalMs, slices }, kind) =>
    totalMs < Infinity ? [{ kind, size: sizes[kind] ?? 1, totalMs, slices }] : [],
  );
  for (let done = 1; done <= sequences; done++) {
    let best = Infinity;
    let bestCount = 0;
    for (const { kind, size, totalMs, slices } of usable) {
      if (size > done) continue;
      const total = (totals[done - size] ?? 0) + totalMs;
      const count = (counts[done - size] ?? 0) + slices;
      if (total < best || (total === best && count <= bestCount)) {
        best = total;
        bestCount = count;
        last[done] = kind;
      }
    }
    totals[done] = best;
    counts[done] = bestCount;
  }
  return { totals, counts, last };
}

/** The kinds of chunk that the cheapest batch of `sequences` consists of; it must exist. */
export function kindsUsed({ last }: BatchProgram, sequences: number, sizes: readonly number[]): number[] {
  const used: number[] = [];
  for (let left = sequences; left > 0; left -= sizes[used.at(-1) ?? 0] ?? left) used.push(last[left] ?? 0);
  return used;
}
