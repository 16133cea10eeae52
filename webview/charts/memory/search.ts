/** Index of the first value of an ascending column that is at least `wanted`; its length when there is none. */
export function firstAtOrAfter(column: ArrayLike<number>, wanted: number): number {
  let low = 0;
  let high = column.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((column[middle] ?? 0) >= wanted) high = middle;
    else low = middle + 1;
  }
  return low;
}
