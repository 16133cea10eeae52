import { counted, sentence } from '../../sentence';
import { defaultUnit, type PlanRequest } from '../../domain/request';
import { isUnmet, mostTriedOperations, operationCount, type ScheduleOnLayout } from '../../schedules/on-layout';
import { cutAlike } from './makespan-problem';
import type { Pipeline } from '../predict/pipeline';
import { idBySchedule, candidatePeakBytes } from '../plan';
import { measure, type CandidateSpec, type Prediction } from '../predict/predict';
import type { SlicingListener } from './terapipe-slices';

/**
 * A schedule of equal slices (SlimPipe) with the number of them, of all into which the sequence can be cut, with which its step is
 * shortest; only those that fit memory count, where some do. Null where micro-batches do not come out even or it cannot run.
 * @throws CancelledError.
 */
export function equalSlicesSpec(
  request: PlanRequest,
  pipeline: Pipeline,
  kind: ScheduleOnLayout,
  { signal }: Pick<SlicingListener, 'signal'>,
): CandidateSpec | null {
  const { training, layout, slicing } = request;
  const { sequenceLength: tokens, microBatch } = training;
  const microBatches = training.globalBatch / layout.data / microBatch;
  if (!Number.isInteger(microBatches)) return null;
  const unit = slicing.unit ?? defaultUnit(tokens);
  let best: { readonly spec: CandidateSpec; readonly measured: Prediction } | null = null;
  for (let slices = 1; slices <= Math.min(kind.mostSlices ?? Infinity, Math.ceil(tokens / unit)); slices++) {
    if (tokens % slices !== 0) continue;
    const scheme = cutAlike(
      { microBatches, microBatch },
      Array.from({ length: slices }, () => tokens / slices),
    );
    if (operationCount(kind, layout, scheme) > mostTriedOperations) break;
    const name = sentence`${kind.schedule}, ${counted(slices, 'equal slice')}`;
    const spec: CandidateSpec = { id: idBySchedule[kind.schedule], name, kind, scheme, certificate: null };
    try {
      const measured = measure(pipeline, spec, signal);
      if (best === null || isBetter(measured, best.measured)) best = { spec, measured };
    } catch (error) {
      if (!isUnmet(error)) throw error;
    }
  }
  return best?.spec ?? null;
}

/** Of two that do not fit the one that takes less memory; else the faster one that fits. */
function isBetter(a: Prediction, b: Prediction): boolean {
  if (a.fits !== b.fits) return a.fits;
  return a.fits ? a.iterationMs < b.iterationMs : candidatePeakBytes(a) < candidatePeakBytes(b);
}
