import type { ElasticRequest } from './request';

/** Loading and decoding the samples of one step of one pipeline, ms; 0 when they are always present. */
function loaderMs({ loader }: Pick<ElasticRequest, 'loader'>, batch: number): number {
  return loader === null ? 0 : (1e3 * batch) / (loader.samplesPerSecond * Math.max(1, loader.workers));
}

/**
 * What a step waits for its samples, ms: all that loading takes where the training process does it itself (PyTorch's `num_workers=0`), else
 * what it takes longer than the step before.
 */
export function inputWaitMs(request: Pick<ElasticRequest, 'loader'>, batch: number, stepMs: number): number {
  const ms = loaderMs(request, batch);
  return request.loader?.workers === 0 ? ms : Math.max(0, ms - stepMs);
}

/** Share of a measured step that is left to it at least, where the loader is said to take longer than the whole step. */
const leastOfStep = 0.01;

/** A measured step without what it waited for its samples, ms. */
export function withoutInput(request: Pick<ElasticRequest, 'loader'>, batch: number, measuredMs: number): number {
  return request.loader?.workers === 0 ? Math.max(leastOfStep * measuredMs, measuredMs - loaderMs(request, batch)) : measuredMs;
}
