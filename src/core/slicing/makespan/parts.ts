import type { Count } from './cuts';
import type { Windows } from './layers';
import type { Relaxed } from './relaxation';

/** A part of the space: cuts into one number of slices within windows. */
export interface Part {
  readonly count: Count;
  readonly windows: Windows;
  /** No cut in it takes less, ms. */
  readonly boundMs: number;
  /** Null before it is relaxed. */
  readonly relaxed: Relaxed | null;
}

/** Two parts of a part: the boundary about which the mix is least of one mind ends before, or at, its mean or after it. */
export function splitPart({ count, windows, boundMs, relaxed: known }: Part): Part[] {
  const mix = known?.mix ?? [];
  const { low, high } = windows;
  let [at, split, most] = [-1, 0, 0];
  for (let index = 0; index < low.length; index++) {
    const [from, to] = [low[index] ?? 0, high[index] ?? 0];
    if (to <= from) continue;
    const mean = mix.reduce((sum, { cut, share }) => sum + share * (cut.ends[index] ?? 0), 0);
    const spread = mix.reduce((sum, { cut, share }) => sum + share * ((cut.ends[index] ?? 0) - mean) ** 2, 0);
    const rank = spread + 1e-3 * (to - from);
    if (rank <= most) continue;
    most = rank;
    at = index;
    split = mix.length > 0 && spread > 1e-9 ? Math.floor(mean) : (from + to) >> 1;
  }
  if (at < 0) return [];
  split = Math.min((high[at] ?? 0) - 1, Math.max(low[at] ?? 0, split));
  const [upper, lower] = [high.slice(), low.slice()];
  for (let index = at, most = split; index >= 0; index--, most--) upper[index] = Math.min(upper[index] ?? 0, most);
  for (let index = at, least = split + 1; index < lower.length; index++, least++) lower[index] = Math.max(lower[index] ?? 0, least);
  return [
    { count, windows: { low, high: upper }, boundMs, relaxed: null },
    { count, windows: { low: lower, high }, boundMs, relaxed: null },
  ].filter(({ windows: { low: from, high: to } }) => from.every((least, index) => least <= (to[index] ?? 0)));
}

/** The number of cuts within windows; saturates above `enough`. */
export function cutsIn({ low, high }: Windows, enough: number): number {
  let product = 1;
  for (let index = 0; index < low.length && product <= enough; index++) product *= (high[index] ?? 0) - (low[index] ?? 0) + 1;
  return product;
}

export function forEachCut({ low, high }: Windows, visit: (ends: Int32Array) => void): void {
  const ends = new Int32Array(low.length);
  const grow = (index: number): void => {
    if (index === ends.length) {
      visit(ends.slice());
      return;
    }
    for (let end = Math.max(low[index] ?? 0, index === 0 ? 1 : (ends[index - 1] ?? 0) + 1); end <= (high[index] ?? 0); end++) {
      ends[index] = end;
      grow(index + 1);
    }
  };
  grow(0);
}
