/** How a size does: null where it is not legal, so that it cannot be planned. */
export type Judge = (index: number) => boolean | null;

/** Sizes around one that is not legal that are tried in its place. */
const mostNeighbours = 32;

/** Indices of sizes. */
interface Bracket {
  /** The last that fits; null: none does. */
  readonly last: number | null;
  /** The first legal one above it, which does not fit; null: none was found. */
  readonly next: number | null;
}

/**
 * The last of `count` sizes that fits, where no size that fits is above a legal one that does not: doubles until one does not fit, then
 * halves. Sizes that are not legal are passed over.
 * @param raise another index that fits, from one that does up to one below the second: what a cheaper look finds.
 * @param known an index that fits; -1: none is known.
 */
export function lastFitting(count: number, judge: Judge, raise?: (low: number, high: number) => number, known = -1): Bracket {
  let [low, high] = [known, count];
  while (high - low > 1) {
    const target = high === count ? Math.min(2 * low + 2, count - 1) : (low + high) >> 1;
    const legal = nearestLegal(target, low, high, judge);
    if (legal === null) high = target;
    else if (judge(legal) === true) low = raise?.(legal, high) ?? legal;
    else high = legal;
  }
  return { last: low < 0 ? null : low, next: firstLegal(high, count, judge) };
}

/** The first of `count` sizes that fits, and the last legal one below it; sizes need not be in order of what they need. */
export function firstFitting(count: number, judge: Judge): { readonly first: number | null; readonly below: number | null } {
  let below: number | null = null;
  for (let index = 0; index < count; index++) {
    const fits = judge(index);
    if (fits === true) return { first: index, below };
    if (fits === false) below = index;
  }
  return { first: null, below };
}

/** The legal index between two, both excluded, that is nearest to one. */
function nearestLegal(target: number, low: number, high: number, judge: Judge): number | null {
  for (let away = 0; away <= mostNeighbours; away++)
    for (const index of away === 0 ? [target] : [target - away, target + away])
      if (index > low && index < high && judge(index) !== null) return index;
  return null;
}

function firstLegal(from: number, count: number, judge: Judge): number | null {
  for (let index = from; index < Math.min(count, from + mostNeighbours); index++) if (judge(index) !== null) return index;
  return null;
}
