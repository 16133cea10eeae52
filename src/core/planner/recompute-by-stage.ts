import { throwIfCancelled, type CancelSignal } from '../errors';
import { fitsMemory, stageFits } from '../memory-model/verdict';
import type { MemoryProfile } from '../memory-model/profile';
import { chunksOf, kindFor, memoryOf, operationCount, unlessUnmet } from '../partition/scheduling';
import { gpuMemoryOf } from '../partition/stage-inputs';
import type { PlanRequest } from '../spec/request';
import type { Scheme } from '../spec/scheme';
import { pipelineOf } from './pipeline';
import type { Candidate } from './plan';
import { measure, type Prediction } from './predict';

/** A step whose stages recompute as many layers each as they need to. */
export interface RecomputeByStage {
  /** Layers that are recomputed whole, of each stage. */
  readonly layers: readonly number[];
  readonly prediction: Prediction;
}

/** A schedule of more operations is not counted again for every change that might fit. */
export const mostTrialOperations = 200_000;

/**
 * The fewest layers that each stage must recompute whole so that a schedule fits with some scheme, and the step that makes: stages hold
 * fewer micro-batches the later they are, so the later ones need fewer. Each stage is bisected, all at the same time, as what one holds
 * does not depend on the others. Of several schemes the one that is fastest so. Null where it does not fit even if all are recomputed,
 * where a stage has several chunks, or one stage has all layers.
 * @throws CancelledError.
 */
export function recomputeByStage(
  request: PlanRequest,
  { id, name, schedule }: Pick<Candidate, 'id' | 'name' | 'schedule'>,
  schemes: readonly Scheme[],
  signal?: CancelSignal,
): RecomputeByStage | null {
  let best: RecomputeByStage | null = null;
  for (const scheme of schemes) {
    const layers = fewestOf(request, schedule, scheme, signal);
    if (layers === null) continue;
    const spec = { id, name, schedule, scheme, certificate: null };
    const prediction = unlessUnmet(() => measure(pipelineOf(recomputing(request, layers)), spec, signal));
    if (prediction !== null && prediction.fits && prediction.iterationMs < (best?.prediction.iterationMs ?? Infinity))
      best = { layers, prediction };
  }
  return best;
}

/** The request with so many layers of each stage recomputed whole, and nothing else. */
function recomputing(request: PlanRequest, recomputeByStage: readonly number[]): PlanRequest {
  return { ...request, training: { ...request.training, recompute: 'full', recomputeByStage } };
}

function fewestOf(
  request: PlanRequest,
  schedule: Candidate['schedule'],
  scheme: Scheme,
  signal: CancelSignal | undefined,
): readonly number[] | null {
  const { model, training, layout, cluster } = request;
  const kind = kindFor(schedule, layout);
  if (kind.chunks > 1 || layout.pipeline < 2 || operationCount(kind, layout, scheme) > mostTrialOperations) return null;
  const chunks = unlessUnmet(() => chunksOf({ model, training, layout }, kind));
  if (chunks === null) return null;
  const gpuMemory = gpuMemoryOf(cluster, layout);
  const memoryWith = (layers: readonly number[]): MemoryProfile | null =>
    memoryOf({ model, training: recomputing(request, layers).training, layout }, schedule, scheme, gpuMemory);
  const fewest = chunks.stageContents.map(({ layers }) => layers);
  /** Too few of each stage, as far as is known. */
  const below = fewest.map(() => -1);
  const all = memoryWith(fewest);
  if (all === null || !fitsMemory(all)) return null;
  while (fewest.some((layers, stage) => layers - (below[stage] ?? 0) > 1)) {
    throwIfCancelled(signal);
    const middle = fewest.map((layers, stage) => Math.ceil((layers + (below[stage] ?? 0)) / 2));
    const memory = memoryWith(middle);
    if (memory === null) return null;
    for (const own of memory.stages) (stageFits(own) ? fewest : below)[own.stage] = middle[own.stage] ?? 0;
  }
  return fewest;
}
