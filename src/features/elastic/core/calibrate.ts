import { placePipelines } from './auto-dp';
import { cacheSize } from './auto-cache';
import type { Throughput, ElasticRequest } from './request';
import { frozenForwardMs, modelledStep, type ModelledStep, type StepQuestion, type ElasticContext } from './context';

/** A step as modelled, with what the frozen layers take in it. */
interface UncalibratedStep extends StepQuestion {
  readonly step: ModelledStep;
  /** The frozen layers in this epoch, and when their outputs are read from the cache. */
  readonly frozenMs: number;
  readonly readMs: number;
  /** Whether the frozen layers are computed, not read. */
  readonly computes: boolean;
}

interface StepTimes {
  readonly frozenMs: number;
  readonly pipelineMs: number;
  readonly allReduceMs: number;
  readonly optimizerMs: number;
  readonly stepMs: number;
  readonly calibration: number;
}

/** Times of a step, measured rates taken into account. */
export type Calibration = (step: UncalibratedStep) => StepTimes;

/**
 * Scales modelled steps by measured rates, less what a step waits for its samples. A steady rate for just this number of frozen layers and
 * GPUs gives the step itself; elsewhere the model's step is scaled as at the nearest measured one (same pipeline length before others, then
 * fewest layers apart). Computing the frozen layers is scaled as the first epoch's step is. A rate of a first epoch after a change replaces
 * the step of that epoch where frozen layers are computed. Without rates nothing is scaled.
 */
export function calibrateSteps(context: ElasticContext): Calibration {
  const { throughputs, fillingThroughputs, firstLength } = context.request;
  const measuresFrozen = context.request.frozenSamplesPerSecond !== null;
  const speed = throughputs.length === 0 || measuresFrozen ? 1 : factorAt(context, nearestThroughput(throughputs, 0, firstLength));
  return ({ step, frozenMs, readMs, computes, ...question }) => {
    const { frozenLayers, pipelineLength, batch, replicas } = question;
    const factor = throughputs.length === 0 ? 1 : factorAt(context, nearestThroughput(throughputs, frozenLayers, pipelineLength));
    const scaled = {
      frozenMs: computes ? speed * frozenMs : factor * readMs,
      pipelineMs: factor * step.pipelineMs,
      allReduceMs: factor * step.allReduceMs,
      optimizerMs: factor * step.optimizerMs,
    };
    const stepMs = scaled.frozenMs + scaled.pipelineMs + scaled.allReduceMs + scaled.optimizerMs;
    const filling = computes
      ? fillingThroughputs.find((rate) => rate.frozenLayers === frozenLayers && rate.pipelineLength === pipelineLength)
      : undefined;
    if (filling === undefined || replicas !== replicasAt(context, pipelineLength)) return { ...scaled, stepMs, calibration: factor };
    const measuredMs = withoutInput(context.request, batch, (1e3 * batch * replicas) / filling.samplesPerSecond);
    const rest = stepMs - scaled.frozenMs;
    return { ...scaled, frozenMs: Math.max(0, measuredMs - rest), stepMs: measuredMs, calibration: factor };
  };
}

/** Replicas that were there when a rate was measured: all that fit. */
function replicasAt({ request }: ElasticContext, pipelineLength: number): number {
  return placePipelines(request.cluster, request.firstLength, pipelineLength).replicas;
}

function nearestThroughput(throughputs: readonly Throughput[], frozenLayers: number, pipelineLength: number): Throughput | undefined {
  const distance = (rate: Throughput): number =>
    1e6 * Math.abs(Math.log2(rate.pipelineLength / pipelineLength)) + Math.abs(rate.frozenLayers - frozenLayers);
  return throughputs.reduce<Throughput | undefined>(
    (best, rate) => (best === undefined || distance(rate) < distance(best) ? rate : best),
    undefined,
  );
}

/** Measured over modelled step at a measured rate, the frozen layers read from the cache as a plan has them in the steady state. */
function factorAt(context: ElasticContext, rate: Throughput | undefined): number {
  if (rate === undefined) return 1;
  const { request } = context;
  const { frozenLayers, pipelineLength } = rate;
  const placement = placePipelines(request.cluster, request.firstLength, pipelineLength);
  const first = placePipelines(request.cluster, request.firstLength, request.firstLength).replicas;
  const batch = request.batchScaling === 'scaled' ? request.batch : Math.max(1, Math.floor((request.batch * first) / placement.replicas));
  const step = modelledStep(context, { frozenLayers, ...placement, balance: request.balance, batch });
  const forwardMs = frozenForwardMs(context, 0, frozenLayers, batch);
  const { movedMs, diskBytes } = cacheSize(request, { batch, replicasPerNode: placement.replicasPerNode });
  const reads = request.cache.enabled && diskBytes <= request.cache.diskBytes && movedMs < forwardMs;
  const modelledMs = step.pipelineMs + step.allReduceMs + step.optimizerMs + (reads ? movedMs : forwardMs);
  return withoutInput(request, batch, (1e3 * batch * placement.replicas) / rate.samplesPerSecond) / modelledMs;
}

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

/** Share of a measured step that is left to it at least, where the measured loader takes longer than the whole step. */
const leastOfStep = 0.01;

/** A measured step without what it waited for its samples, ms. */
function withoutInput(request: Pick<ElasticRequest, 'loader'>, batch: number, measuredMs: number): number {
  return request.loader?.workers === 0 ? Math.max(leastOfStep * measuredMs, measuredMs - loaderMs(request, batch)) : measuredMs;
}
