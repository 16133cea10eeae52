/** How far gradients are from those of the unsliced step. */
export interface GradientError {
  /** Largest difference of a number over the largest absolute value of its tensor; 0 where both are all zeros. */
  readonly error: number;
  /** Name of the tensor where it is. */
  readonly tensor: string | null;
}

/** The worst over all tensors; `Infinity` where one is missing on either side, has another length, or has no number in it. */
export function gradientError(actual: ReadonlyMap<string, Float32Array>, expected: ReadonlyMap<string, Float32Array>): GradientError {
  let worst: GradientError = { error: 0, tensor: null };
  for (const name of new Set([...expected.keys(), ...actual.keys()])) {
    const error = tensorError(actual.get(name), expected.get(name));
    if (worst.tensor === null || error > worst.error) worst = { error, tensor: name };
  }
  return worst;
}

function tensorError(actual: Float32Array | undefined, expected: Float32Array | undefined): number {
  if (actual === undefined || expected?.length !== actual.length) return Infinity;
  let [largest, apart] = [0, 0];
  for (let i = 0; i < expected.length; i++) {
    const difference = Math.abs((actual[i] ?? 0) - (expected[i] ?? 0));
    if (!Number.isFinite(difference)) return Infinity;
    largest = Math.max(largest, Math.abs(expected[i] ?? 0));
    apart = Math.max(apart, difference);
  }
  return apart === 0 ? 0 : largest === 0 ? Infinity : apart / largest;
}

/** Rounding of fp32 in sums of another order stays far below. */
export const gradientTolerance = 1e-4;

/** Whether gradients are those of the unsliced step except for rounding. */
export function isRightGradient(found: GradientError | null): boolean {
  return found !== null && found.error < gradientTolerance;
}
