import { ExpectedError, throwIfCancelled, type CancelSignal } from '../errors';
import { formatDuration, formatNumber } from '../format';
import type { ScheduleName } from '../spec/schedule-names';
import type { Scheme } from '../spec/scheme';
import { pipelineOf } from '../planner/pipeline';
import { measure } from '../planner/predict';
import type { PlanRequest } from '../spec/request';
import { sentence } from '../sentence';

/** Fractions of peak between which a GEMM efficiency is looked for: below, the GPU waits for something else; above 1 nothing runs. */
const least = 0.02;
const most = 1;
/** Halvings of the interval: to under 1e-6 of it. */
const steps = 20;

/**
 * The request with the GPU's GEMM efficiency changed so that the step that its files describe, as launched (its layout, its schedule or
 * 1F1B, its micro-batches or slices), takes the time that was measured. Plans with
 * other layouts on the same machine follow. See docs/model/time.md, Calibration.
 *
 * @param iterationMs of one measured step.
 * @throws ExpectedError `calibration-unreachable` when no efficiency gives that time, `calibration-batch` when the batch is no whole number
 * of micro-batches; CancelledError.
 */
export function calibrated(request: PlanRequest, iterationMs: number, signal?: CancelSignal): PlanRequest {
  const at = (gemmEfficiency: number): PlanRequest => {
    const { cluster } = request;
    return { ...request, cluster: { ...cluster, gpu: { ...cluster.gpu, gemmEfficiency, gemmEfficiencyKnown: true } } };
  };
  const predicted = (gemmEfficiency: number): number => {
    throwIfCancelled(signal);
    return asLaunchedMs(at(gemmEfficiency), signal);
  };
  const [slowest, fastest] = [predicted(least), predicted(most)];
  if (iterationMs < fastest || iterationMs > slowest) throw unreachable(request, iterationMs, fastest, slowest);
  let [low, high] = [least, most];
  for (let step = 0; step < steps; step++) {
    const middle = (low + high) / 2;
    if (predicted(middle) > iterationMs) low = middle;
    else high = middle;
  }
  const gemmEfficiency = (low + high) / 2;
  const before = request.cluster.gpu.gemmEfficiency;
  return { ...at(gemmEfficiency), calibration: { iterationMs, predictedMs: asLaunchedMs(request, signal), gemmEfficiency, before } };
}

function asLaunchedMs(request: PlanRequest, signal: CancelSignal | undefined): number {
  const { schedule, slicing } = request;
  const name: ScheduleName = schedule ?? (slicing.scheme === null ? '1F1B' : 'TeraPipe');
  const scheme = slicing.scheme ?? microBatches(request);
  const spec = { id: 'given', name: 'as launched', schedule: name, scheme, certificate: null } as const;
  return measure(pipelineOf(request), spec, signal).iterationMs;
}

function microBatches({ training, layout }: PlanRequest): Scheme {
  const count = training.globalBatch / layout.data / training.microBatch;
  if (!Number.isInteger(count) || count < 1)
    throw new ExpectedError(
      'calibration-batch',
      sentence`The measured step has no whole number of micro-batches on each replica`,
      sentence`set training.globalBatch, training.microBatch and layout.data as they were when it was measured`,
    );
  return Array.from({ length: count }, () => ({ batch: training.microBatch, tokens: [training.sequenceLength] }));
}

function unreachable({ cluster }: PlanRequest, iterationMs: number, fastest: number, slowest: number): ExpectedError {
  const measured = formatDuration(iterationMs);
  return iterationMs < fastest
    ? new ExpectedError(
        'calibration-unreachable',
        sentence`A step of ${measured} is faster than ${cluster.gpu.name} at its peak rate allows (${formatDuration(fastest)})`,
        sentence`check that the file has the recompute, batch, layout and precision of the measured run, and cost.issueFloorUs`,
      )
    : new ExpectedError(
        'calibration-unreachable',
        sentence`A step of ${measured} would mean under ${formatNumber(100 * least)} % of the peak of ${cluster.gpu.name} (${formatDuration(slowest)})`,
        sentence`check that the file has the layout and links of the measured run, and that the time is in ms`,
      );
}
