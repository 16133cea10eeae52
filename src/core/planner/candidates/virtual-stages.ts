import type { CancelSignal } from '../../errors';
import { isUnmet, operationCount, scheduleOn } from '../../schedules/on-layout';
import { isRun } from '../../schedules/runtimes';
import { scheduleKinds } from '../../schedules/registry';
import { sentence } from '../../sentence';
import type { PlanRequest } from '../../domain/request';
import { maximumOtherOperations } from './candidate-specs';
import type { Pipeline } from '../predict/pipeline';
import { idBySchedule, candidatePeakBytes, type Candidate, type Plan } from '../plan';
import { measure, type Prediction } from '../predict/predict';

const mostVirtualStages = 16;

/** The request with virtual stages as open as the files leave them. */
export function withOpenStages(request: PlanRequest): PlanRequest {
  if (request.freeVirtualStages !== true) return request;
  const assumptions = request.assumptions.filter(({ key }) => key !== 'layout.virtualStages');
  return { ...request, layout: { ...request.layout, virtualStages: 1 }, assumptions };
}

/** The request with the virtual stages of a candidate, where no file gives any. */
export function withVirtualStages(
  request: PlanRequest,
  { chunksPerStage, schedule }: Pick<Candidate, 'chunksPerStage' | 'schedule'>,
): PlanRequest {
  const open = withOpenStages(request);
  if (open.freeVirtualStages !== true || chunksPerStage === 1) return open;
  const assumption = { key: 'layout.virtualStages', value: String(chunksPerStage), reason: sentence`chosen with ${schedule}` };
  return { ...open, layout: { ...open.layout, virtualStages: chunksPerStage }, assumptions: [...open.assumptions, assumption] };
}

/** A plan as if it had chosen another of its candidates. */
export function withChosen(plan: Plan, candidate: Candidate): Plan {
  return { ...plan, request: withVirtualStages(plan.request, candidate), chosen: candidate.id };
}

/**
 * The pipeline where no file gives virtual stages: each schedule that runs several and that the runtime runs, or that is asked for, has as
 * many as are best: of the numbers that cut the layers into equal chunks the fastest that fits, else the one with the least memory.
 *
 * @throws CancelledError.
 */
export function withChosenStages(request: PlanRequest, pipeline: Pipeline, signal?: CancelSignal): Pipeline {
  const { model, training, layout } = request;
  const microBatches = training.globalBatch / layout.data / training.microBatch;
  if (request.freeVirtualStages !== true || layout.pipeline === 1 || !Number.isInteger(microBatches)) return pipeline;
  const scheme = Array.from({ length: microBatches }, () => ({ batch: training.microBatch, tokens: [training.sequenceLength] }));
  const names = scheduleKinds
    .filter(
      ({ name, chunksPerStage, sliced }) => chunksPerStage === 'several' && !sliced && (name === request.schedule || isRun(name, request)),
    )
    .map(({ name }) => name);
  const counts = Array.from({ length: mostVirtualStages - 1 }, (_, index) => index + 2).filter(
    (count) => model.layers % (layout.pipeline * count) === 0,
  );
  const found = names.flatMap((schedule) => {
    const tried = counts.flatMap((count) => {
      const kind = scheduleOn(schedule, { virtualStages: count });
      if (operationCount(kind, layout, scheme) > maximumOtherOperations) return [];
      const spec = { id: idBySchedule[schedule], name: schedule, kind, scheme, certificate: null };
      try {
        return [{ kind, ...measure(pipeline, spec, signal) }];
      } catch (error) {
        if (isUnmet(error)) return [];
        throw error;
      }
    });
    const best = fastestThatFits(tried);
    return best === undefined ? [] : [[schedule, { ...best.kind, isChosen: true as const }] as const];
  });
  return { ...pipeline, schedules: { ...pipeline.schedules, ...Object.fromEntries(found) } };
}

function fastestThatFits<T extends Prediction>(tried: readonly T[]): T | undefined {
  const fitting = tried.filter(({ fits }) => fits);
  return fitting.length > 0
    ? fitting.toSorted((a, b) => a.iterationMs - b.iterationMs)[0]
    : tried.toSorted((a, b) => candidatePeakBytes(a) - candidatePeakBytes(b))[0];
}
