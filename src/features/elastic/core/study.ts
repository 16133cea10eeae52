import { throwIfCancelled, type CancelSignal } from '../../../core/errors';
import { searchedMicroBatches } from './auto-pipe';
import { elasticContext, modelledStep, type ElasticContext } from './context';
import { alphaPolicy, type FreezePolicy } from './freeze';
import { decideElastic, type ElasticDecision } from './decision';
import { frozenByEpoch } from './make-plan';
import { elasticRange, type ElasticRange } from './open-inputs';
import type { ElasticEpoch, ElasticPlan } from './plan';
import type { ElasticRequest } from './request';
import { allMechanisms, runEpochs, totalEpochMs } from './run-epochs';

/** A whole run as it would be with another alpha. */
interface AlphaPoint {
  readonly alpha: number;
  readonly totalMs: number;
  /** Against no freezing. */
  readonly speedup: number;
  /** What PipeTransformer measured on this model and data, percent; null where it measured none. */
  readonly measuredAccuracy: number | null;
}

/** A whole run as it would be with pipelines of another length at the start. */
interface LengthPoint {
  readonly pipelineLength: number;
  readonly totalMs: number;
  /** Against no freezing on the length that was asked for. */
  readonly speedup: number;
  /** Before any layer freezes. */
  readonly samplesPerSecond: number;
  readonly fits: boolean;
}

/** The steps of one kind of epoch by their number of micro-batches. */
export interface MicroBatchCurve {
  readonly pipelineLength: number;
  readonly frozenLayers: number;
  readonly points: readonly { readonly microBatches: number; readonly samplesPerSecond: number }[];
}

/** What else alpha, the length of pipelines and the number of micro-batches could be. Plain data. */
export interface ElasticStudy {
  readonly alphas: readonly AlphaPoint[];
  readonly lengths: readonly LengthPoint[];
  readonly decision: ElasticDecision;
  /** Of the run as it was asked for. */
  readonly range: ElasticRange;
  readonly microBatches: readonly MicroBatchCurve[];
}

/** Accuracies of ViT-B/16 on CIFAR-100 by alpha, percent; without freezing 91.21 (arXiv 2102.03161, figure 10). */
const measuredAccuracies: readonly (readonly [alpha: number, percent: number])[] = [
  [1 / 5, 91.33],
  [1 / 4, 91.13],
  [1 / 3, 90.78],
  [2 / 5, 90.82],
  [1 / 2, 89.84],
];

/** Accuracies say nothing of another model or data set. */
function isMeasuredRun({ dataset, model: { spec, ends } }: ElasticRequest): boolean {
  return dataset === 'cifar-100' && ends.patchWidth !== null && spec.layers === 12 && spec.hidden === 768;
}

const mostMicroBatchPoints = 24;

/** Alphas of the curve: every twentieth, and those that were measured. */
function triedAlphas(given: number | null): number[] {
  const even = Array.from({ length: 18 }, (_, index) => (index + 1) / 20);
  const all = [...even, ...measuredAccuracies.map(([alpha]) => alpha), ...(given === null ? [] : [given])].sort((a, b) => a - b);
  return all.filter((alpha, index) => alpha - (all[index - 1] ?? 0) > 1e-3);
}

/**
 * The curves behind a plan: its total time by alpha (by the released schedule, whatever the run freezes by) and by pipeline length, and the
 * rate of its kinds of epochs by number of micro-batches. @throws ExpectedError as `planElastic`; CancelledError.
 */
export function studyElastic({ request, epochs, variants }: ElasticPlan, signal?: CancelSignal): ElasticStudy {
  const context = elasticContext(request);
  const baselineMs = variants.find(({ id }) => id === 'none')?.totalMs ?? NaN;
  const { freezing, model } = request;
  const given = 'alpha' in freezing ? freezing.alpha : null;
  const alphas = triedAlphas(given).map((alpha): AlphaPoint => {
    const totalMs = totalEpochMs(runPolicy(context, alphaPolicy(model.spec.layers, alpha), signal));
    const measured = measuredAccuracies.find(([other]) => Math.abs(other - alpha) < 1e-3);
    return { alpha, totalMs, speedup: baselineMs / totalMs, measuredAccuracy: isMeasuredRun(request) ? (measured?.[1] ?? null) : null };
  });
  const frozen = epochs.map(({ frozenLayers }) => frozenLayers);
  return {
    alphas,
    lengths: studyLengths(request, epochs, baselineMs, signal),
    decision: decideElastic(request, frozen, signal),
    range: elasticRange(request, frozen, signal),
    microBatches: studyMicroBatches(context, epochs, signal),
  };
}

function runPolicy(context: ElasticContext, policy: FreezePolicy, signal?: CancelSignal): readonly ElasticEpoch[] {
  return runEpochs(context, frozenByEpoch(context.request, policy), allMechanisms, signal);
}

/** Lengths by halves from a whole node, and the one that was asked for. With measured rates only the latter: they are of no other. */
function studyLengths(request: ElasticRequest, asked: readonly ElasticEpoch[], baselineMs: number, signal?: CancelSignal): LengthPoint[] {
  const frozen = asked.map(({ frozenLayers }) => frozenLayers);
  const lengths = new Set([request.firstLength]);
  if (request.throughputs.length + request.fillingThroughputs.length === 0)
    for (let length = request.cluster.gpusPerNode; length >= 1; length = Math.floor(length / 2)) lengths.add(length);
  return [...lengths]
    .sort((a, b) => a - b)
    .flatMap((firstLength) => {
      throwIfCancelled(signal);
      const isAsked = firstLength === request.firstLength;
      if (!isAsked && !hasSamples(request, firstLength)) return [];
      const epochs = isAsked ? asked : runEpochs(elasticContext({ ...request, firstLength }), frozen, allMechanisms, signal);
      const totalMs = totalEpochMs(epochs);
      const samplesPerSecond = epochs[0]?.samplesPerSecond ?? NaN;
      return [
        { pipelineLength: firstLength, totalMs, speedup: baselineMs / totalMs, samplesPerSecond, fits: epochs.every(({ fits }) => fits) },
      ];
    });
}

/** Whether every pipeline that fits in the GPUs would have samples. */
function hasSamples({ batch, batchScaling, cluster, datasetSize }: ElasticRequest, firstLength: number): boolean {
  const gpus = cluster.nodes * cluster.gpusPerNode;
  return gpus <= datasetSize && (batchScaling === 'scaled' || batch >= firstLength);
}

/** Each pair of frozen layers and pipeline length that the run has first, where there are pipelines. */
function studyMicroBatches(context: ElasticContext, epochs: readonly ElasticEpoch[], signal?: CancelSignal): MicroBatchCurve[] {
  const { request } = context;
  const firsts = epochs.filter(({ pipelineLength }, index) => pipelineLength > 1 && epochs[index - 1]?.pipelineLength !== pipelineLength);
  return firsts.map((epoch) => {
    const tried = searchedMicroBatches(epoch.pipelineLength, epoch.batch);
    const stride = Math.ceil(tried.length / mostMicroBatchPoints);
    const counts = [...new Set([...tried.filter((_, index) => index % stride === 0), epoch.microBatches])].sort((a, b) => a - b);
    const points = counts.map((microBatches) => {
      throwIfCancelled(signal);
      const one = { ...context, request: { ...request, microBatches }, steps: new Map() };
      const { pipelineMs } = modelledStep(one, { ...epoch, balance: request.balance });
      const stepMs = epoch.stepMs + epoch.calibration * (pipelineMs - epoch.pipelineMs / epoch.calibration);
      return { microBatches, samplesPerSecond: (1e3 * epoch.batch * epoch.replicas) / stepMs };
    });
    return { pipelineLength: epoch.pipelineLength, frozenLayers: epoch.frozenLayers, points };
  });
}
