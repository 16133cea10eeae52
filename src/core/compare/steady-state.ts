/** Steps that are left out at the beginning of a run at most: they compile, allocate and read ahead. */
const mostWarmUp = 5;

/** How many of the first of `steps` steps are warm-up: five, of fewer than ten half; one alone counts. */
export function warmUpSteps(steps: number): number {
  return Math.min(mostWarmUp, Math.floor(steps / 2));
}
