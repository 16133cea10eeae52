import type { CancelSignal } from '../../errors';
import { sentence } from '../../sentence';
import type { Pipeline } from '../predict/pipeline';
import { measureWanted, type CandidateSpec, type Prediction } from '../predict/predict';

/** Largest groups that a plan tries: in kFkB k micro-batches take k times the memory of one. */
const mostInGroup = 16;

/** Sums of the same times in another order differ by no more than this share: of two alike the smaller group is better. */
const rounding = 1e-9;

/**
 * A schedule that runs micro-batches in groups (kFkB, GIS), with the size that files set, or else the one with which its step is
 * shortest, of all up to 16 that fit; 1 where none does. Other schedules as they are.
 * @throws ExpectedError `schedule-unmet`; CancelledError.
 */
export function withBestGroup(pipeline: Pipeline, spec: CandidateSpec, signal?: CancelSignal): CandidateSpec {
  const { kind, scheme } = spec;
  if (kind.grouped !== true) return spec;
  const { groupedMicroBatches } = pipeline.inputs.training;
  if (groupedMicroBatches !== undefined) return inGroups(spec, groupedMicroBatches);
  let best: { readonly spec: CandidateSpec; readonly measured: Prediction } | null = null;
  for (let size = 1; size <= Math.min(mostInGroup, scheme.length); size++) {
    const tried = inGroups(spec, size);
    // Memory does not always grow with the group (GIS), so sizes after one that does not fit are tried too.
    const isFirst = best === null;
    const measured = measureWanted(pipeline, tried, ({ fits }) => isFirst || fits, signal);
    if (measured === null) continue;
    const isBetter = best?.measured.fits !== true || measured.iterationMs < best.measured.iterationMs * (1 - rounding);
    if (isBetter) best = { spec: tried, measured };
  }
  return best?.spec ?? spec;
}

function inGroups(spec: CandidateSpec, groupedMicroBatches: number): CandidateSpec {
  const name = sentence`${spec.kind.schedule}, groups of ${groupedMicroBatches}`;
  return { ...spec, name, kind: { ...spec.kind, groupedMicroBatches } };
}
