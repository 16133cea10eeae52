import type { SliceMs } from '../../slicing/problem';

/** Costs that keep their times, by those that they ask. */
const known = new WeakMap<SliceMs, { readonly unit: number; readonly kept: SliceMs }>();

/**
 * A cost that asks `cost` once for each slice of a grid. Slices start at multiples of `unit`, and end at another or with the sequence; so a
 * coarser grid, of a multiple of the unit, has its slices among these. Keeps 8 bytes for each slice and number of sequences.
 */
export function keptTimes(cost: SliceMs, tokens: number, unit: number): SliceMs {
  const earlier = known.get(cost);
  if (earlier !== undefined && unit % earlier.unit === 0) return earlier.kept;
  const kept = keeping(cost, tokens, unit);
  known.set(cost, { unit, kept });
  return kept;
}

function keeping(cost: SliceMs, tokens: number, unit: number): SliceMs {
  const units = Math.ceil(tokens / unit);
  const bySequences: (Float64Array | undefined)[] = [];
  return (sequences, length, context) => {
    const start = context / unit;
    const count = context + length === tokens ? units - start : length / unit;
    if (!Number.isInteger(start) || !Number.isInteger(count)) return cost(sequences, length, context);
    const times = (bySequences[sequences] ??= new Float64Array((units * (units + 1)) / 2).fill(NaN));
    const at = start * units - (start * (start - 1)) / 2 + count - 1;
    const ms = times[at] ?? NaN;
    return Number.isNaN(ms) ? (times[at] = cost(sequences, length, context)) : ms;
  };
}
