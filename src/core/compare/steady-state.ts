/** Steps that are left out at the beginning of a run at most: they compile, allocate and read ahead. */
const mostWarmUp = 5;

/** How many of the first of `steps` steps are warm-up: five, of fewer than ten half; one alone counts. */
export function warmUpSteps(steps: number): number {
  return Math.min(mostWarmUp, Math.floor(steps / 2));
}

/** The value in the middle of a list: of an even number of values the lower of both, so that it is one of them. NaN for none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value below which `share` of a list lies, one of the values. NaN for none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;
}
