import { schemeSliceTimes, type SlicingProblem } from '../../../../src/core/slicing/problem';
import type { Scheme } from '../../../../src/core/domain/scheme';

/** Eq. 5 of a scheme on equal stages, ms: the times of all slices, and the slowest once more for every further stage. */
export function schemeLatencyMs(scheme: Scheme, stages: number, cost: SlicingProblem['cost']): number {
  const times = schemeSliceTimes(scheme, cost);
  const totalMs = times.reduce((sum, ms) => sum + ms, 0);
  return totalMs + (stages - 1) * times.reduce((most, ms) => Math.max(most, ms), 0);
}
