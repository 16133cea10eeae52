import type { Objective } from './flow-shop';
import { checkedMs, unitCount, type SlicingProblem } from './problem';
import type { SliceRows } from './slice-rows';

/** Slices of `sequences` to `mostSequences` sequences and `length` to `mostLength` units. */
interface Sizes {
  readonly sequences: number;
  readonly mostSequences: number;
  readonly length: number;
  readonly mostLength: number;
  /** The smallest of them after no context, ms. */
  readonly ms: number;
  /** What any of them takes at least for each unit of each sequence, ms. */
  readonly perUnitMs: number;
}

/** Slice times asked for here at most. */
const mostAsked = 64;
/** Limits that differ by less than this share are the same. */
const settled = 0.01;
/** Relative slack for the rounding of sums. */
const slack = 1e-9;

/**
 * docs/model/slicing.md, Costs that grow. The longest that a slice can take in a plan no slower than `capMs`, ms: a plan takes `sum` times
 * all its slices and `slowest` times the longest. All of them together take at least what the cheapest size up to that limit takes for each
 * unit; that is bounded by ranges of sizes, whose slices take at least as long as the smallest one. The range that bounds it is halved.
 * @param single the slices of one sequence, all of them.
 * @returns `Infinity` where `capMs` is.
 * @throws RangeError when a time is negative or NaN.
 */
export function longestUsefulMs(problem: SlicingProblem, single: SliceRows, { sum, slowest }: Objective, capMs: number): number {
  const { batch, tokens, unit, maximumBatchSlice = batch } = problem;
  const withinMs = capMs * (1 + slack);
  const units = unitCount(problem);
  const largest = Math.min(batch, maximumBatchSlice);
  let limitMs = withinMs / (sum + slowest);
  if (!(withinMs < Infinity) || slowest === 0 || tokens % unit !== 0 || largest < 2) return limitMs;
  const open: Sizes[] = [];
  const add = (sequences: number, mostSequences: number, length: number, mostLength: number, known?: number): void => {
    const ms = known ?? checkedMs(problem.cost, sequences, length * unit, 0);
    if (ms <= limitMs) open.push({ sequences, mostSequences, length, mostLength, ms, perUnitMs: ms / (mostSequences * mostLength) });
  };
  add(2, largest, 1, units);
  for (let asked = 1; asked < mostAsked;) {
    let least = -1;
    let perUnitMs = Infinity;
    for (let index = 0; index < open.length; index++) {
      const sizes = open[index];
      if (sizes === undefined || sizes.ms > limitMs || sizes.perUnitMs >= perUnitMs) continue;
      least = index;
      ({ perUnitMs } = sizes);
    }
    const enoughMs = units * perUnitMs;
    const perSequenceMs = Math.min(enoughMs, single.lowerBound?.(limitMs, enoughMs).totalMs ?? 0);
    const nextMs = (withinMs - sum * batch * perSequenceMs) / slowest;
    const moved = nextMs < limitMs * (1 - settled);
    limitMs = Math.min(nextMs, limitMs);
    if (moved) continue;
    const [split] = open.splice(least, least < 0 ? 0 : 1);
    if (split === undefined || perSequenceMs < enoughMs) break;
    const { sequences, mostSequences, length, mostLength, ms } = split;
    if (sequences === mostSequences && length === mostLength) break;
    asked++;
    if (mostSequences * length > sequences * mostLength) {
      const middle = geometricMiddle(sequences, mostSequences);
      add(sequences, middle - 1, length, mostLength, ms);
      add(middle, mostSequences, length, mostLength);
    } else {
      const middle = geometricMiddle(length, mostLength);
      add(sequences, mostSequences, length, middle - 1, ms);
      add(sequences, mostSequences, middle, mostLength);
    }
  }
  return limitMs;
}

/** The middle of two sizes by their ratio, above the lower one. */
function geometricMiddle(from: number, to: number): number {
  return Math.min(to, Math.max(from + 1, Math.round(Math.sqrt(from * to))));
}
