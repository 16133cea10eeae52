import { elementBytes } from '../../../core/domain/number-formats';
import { networkBandwidth } from '../../../core/time-model/collectives';
import { ExpectedError, throwIfCancelled, type CancelSignal } from '../../../core/errors';
import { formatCount } from '../../../core/format';
import { decideCaches, type CacheDecision, type Span } from './auto-cache';
import { placePipelines, type Placement } from './auto-dp';
import { compressedLength } from './auto-pipe';
import { inputWaitMs, calibrateSteps, type Calibration } from './calibrate';
import type { ElasticEpoch } from './plan';
import { epochVerdict } from './stage-bytes';
import type { ElasticRequest } from './request';
import {
  activeUnits,
  cutUnits,
  frozenForwardMs,
  modelledStep,
  stepStageBytes,
  pipelineForwardMs,
  type ElasticContext,
  type ModelledStep,
  type StepQuestion,
} from './context';
import { stageSums } from './balance';
import { passesFrozen } from './pipeline';
import { memoized } from '../../../core/records';
import { sentence } from '../../../core/sentence';

/** Which mechanisms run. */
export interface Mechanisms {
  readonly pipe: boolean;
  readonly replicas: boolean;
  readonly cache: boolean;
}

export const allMechanisms: Mechanisms = { pipe: true, replicas: true, cache: true };

/** Where and how an epoch runs, before its times are known. */
interface Setting {
  readonly frozenLayers: number;
  readonly placement: Placement;
  readonly batch: number;
  readonly steps: number;
}

/**
 * All epochs of a run with frozen layers as given, one number an epoch, ascending. @throws ExpectedError `elastic-replicas`;
 * CancelledError.
 */
export function runEpochs(
  context: ElasticContext,
  frozen: readonly number[],
  mechanisms: Mechanisms,
  signal?: CancelSignal,
): ElasticEpoch[] {
  const spans = settingSpans(epochSettings(context, frozen, mechanisms, signal));
  const caches = decideCaches(
    context.request,
    spans.map((span, index) => cacheSpan(context, span, spans[index - 1])),
    mechanisms.cache,
  );
  const calibration = calibrateSteps(context);
  return spans.flatMap(({ first, epochs, setting }, span) => {
    throwIfCancelled(signal);
    const cache = caches[span];
    const before = spans[span - 1];
    if (cache === undefined) return [];
    const transitionMs = before === undefined ? 0 : transitionTime(context, before.setting, setting);
    const opening = buildEpoch(context, calibration, { epoch: first, setting, cache, state: cache.used ? 'fill' : 'none', transitionMs });
    if (epochs === 1) return [opening];
    const state = cache.used ? 'read' : 'none';
    const later = (epoch: number) => buildEpoch(context, calibration, { epoch, setting, cache, state, transitionMs: 0 });
    return [opening, ...laterEpochs(first + 1, epochs - 1, later, evaluationKeys(context.request))];
  });
}

/** Steps, evaluation and changes of pipelines of all epochs, ms. */
export function totalEpochMs(epochs: readonly Pick<ElasticEpoch, 'epochMs'>[]): number {
  return epochs.reduce((sum, { epochMs }) => sum + epochMs, 0);
}

/** Epochs that differ in nothing but what is evaluated after them, each kind computed once. */
function laterEpochs(
  first: number,
  count: number,
  compute: (epoch: number) => ElasticEpoch,
  kindAt: (epoch: number) => string,
): ElasticEpoch[] {
  const known = new Map<string, ElasticEpoch>();
  return Array.from({ length: count }, (_, index) => {
    const epoch = first + index;
    return { ...memoized(known, kindAt(epoch), () => compute(epoch)), epoch };
  });
}

/** What is evaluated after an epoch, as a key. */
function evaluationKeys({ evaluation: { every, trainingEvery }, epochs }: ElasticRequest): (epoch: number) => string {
  return (epoch) => [every, trainingEvery].map((each) => isEvaluatedAfter(each, epoch, epochs)).join();
}

/** Epochs in a row with one setting. */
interface SettingSpan {
  readonly first: number;
  epochs: number;
  readonly setting: Setting;
}

function settingSpans(settings: readonly Setting[]): SettingSpan[] {
  const spans: SettingSpan[] = [];
  settings.forEach((setting, first) => {
    const last = spans.at(-1);
    if (last !== undefined && alike(last.setting, setting)) last.epochs += 1;
    else spans.push({ first, epochs: 1, setting });
  });
  return spans;
}

function alike(one: Setting, other: Setting): boolean {
  return one.frozenLayers === other.frozenLayers && one.placement.pipelineLength === other.placement.pipelineLength;
}

function epochSettings(
  context: ElasticContext,
  frozen: readonly number[],
  { pipe, replicas: grow }: Mechanisms,
  signal?: CancelSignal,
): Setting[] {
  const { request } = context;
  const { firstLength, balance, cluster } = request;
  // By time the memory itself is counted (PipeTransformer's proxy for it is parameters): any cut that fits will do.
  const largest = balance === 'time' ? Infinity : (cutUnits(context, balance, 0, firstLength, request.batch)?.largest ?? Infinity);
  let pipelineLength = firstLength;
  return frozen.map((frozenLayers) => {
    throwIfCancelled(signal);
    if (pipe && frozenLayers > 0)
      pipelineLength =
        request.shrink === 'fastest'
          ? fastestLength(context, frozenLayers, pipelineLength, grow)
          : compressedLength(pipelineLength, (stages) => cutUnits(context, balance, frozenLayers, stages, request.batch), largest);
    const placement = placePipelines(cluster, firstLength, pipelineLength, grow);
    const batch = replicaBatch(request, placement.replicas, placePipelines(cluster, firstLength, firstLength).replicas);
    return { frozenLayers, placement, batch, steps: Math.ceil(request.datasetSize / (batch * placement.replicas)) };
  });
}

/**
 * The length, from that of the epoch before by halves to 1, on which a step takes least for its samples and that fits: what freezing frees
 * goes to fewer stages and more replicas, or stays where it makes the micro-batches larger.
 */
function fastestLength(context: ElasticContext, frozenLayers: number, length: number, grow: boolean): number {
  const { request } = context;
  const { cluster, firstLength, balance } = request;
  let best: { readonly length: number; readonly msPerSample: number; readonly fits: boolean } | null = null;
  for (let tried = length; tried >= 1; tried = Math.floor(tried / 2)) {
    const placement = placePipelines(cluster, firstLength, tried, grow);
    const batch = replicaBatch(request, placement.replicas, placePipelines(cluster, firstLength, firstLength).replicas);
    const question = { frozenLayers, ...placement, balance, batch };
    const { question: faster, frozenMs, step } = fasterFrozen(context, question);
    const msPerSample = (frozenMs + step.pipelineMs + step.allReduceMs + step.optimizerMs) / (batch * placement.replicas);
    const { fits } = epochVerdict(stepStageBytes(context, faster, step), cluster.gpu);
    if (best === null || (fits && !best.fits) || (fits === best.fits && msPerSample < best.msPerSample))
      best = { length: tried, msPerSample, fits };
  }
  return best?.length ?? length;
}

/** A step whose frozen layers are computed: before the pipeline as PipeTransformer does, or in it where that is faster and asked for. */
function fasterFrozen(
  context: ElasticContext,
  question: StepQuestion,
): { readonly question: StepQuestion; readonly frozenMs: number; readonly step: ModelledStep } {
  const { frozenLayers, batch } = question;
  const apart = { question, frozenMs: frozenForwardMs(context, 0, frozenLayers, batch), step: modelledStep(context, question) };
  if (frozenLayers === 0 || !passesFrozen(context.request)) return apart;
  const inside = { ...question, isFrozenInside: true };
  const step = modelledStep(context, inside);
  return step.pipelineMs < apart.frozenMs + apart.step.pipelineMs ? { question: inside, frozenMs: 0, step } : apart;
}

/** What computing the frozen layers adds to a step, ms. */
function computedMs(context: ElasticContext, question: StepQuestion): number {
  const { frozenMs, step } = fasterFrozen(context, question);
  return frozenMs + step.pipelineMs - modelledStep(context, question).pipelineMs;
}

/** Samples of a step on one of `replicas` pipelines. @throws ExpectedError `elastic-replicas` when some would have none. */
function replicaBatch({ batch, batchScaling, datasetSize }: ElasticRequest, replicas: number, firstReplicas: number): number {
  const own = batchScaling === 'scaled' ? batch : Math.floor((batch * firstReplicas) / replicas);
  if (replicas <= datasetSize && own >= 1) return own;
  const [what, remedy] =
    own >= 1
      ? [sentence`an epoch of ${formatCount(datasetSize)} samples`, sentence`give a larger datasetSize, or fewer nodes`]
      : [
          sentence`a step of ${formatCount(batch * firstReplicas)} samples`,
          sentence`give a larger batch, or let it grow with batchScaling "scaled"`,
        ];
  throw new ExpectedError(
    'elastic-replicas',
    sentence`There are more replicas than data: ${formatCount(replicas)} pipelines for ${what}`,
    remedy,
  );
}

function cacheSpan(context: ElasticContext, { epochs, setting }: SettingSpan, before: SettingSpan | undefined): Span {
  const { frozenLayers, placement, batch, steps } = setting;
  const old = before?.setting;
  return {
    epochs,
    steps,
    batch,
    replicasPerNode: placement.replicasPerNode,
    forwardMs: computedMs(context, { frozenLayers, ...placement, balance: context.request.balance, batch }),
    advanceMs: frozenForwardMs(context, old?.frozenLayers ?? 0, frozenLayers, batch),
    follows: old?.placement.replicas === placement.replicas,
  };
}

/**
 * What a change costs before the next epoch. Other pipelines or replicas: the fixed transition, and the weights sent to new replicas over
 * the network and to the GPUs over the host's link. The same pipelines with more frozen layers: only the weights move.
 */
function transitionTime({ request, units, inputs }: ElasticContext, old: Setting, { placement }: Setting): number {
  const { cache, cluster, transitionMs } = request;
  const bytes = elementBytes(inputs.training) * units.reduce((sum, { parameters }) => sum + parameters, 0);
  const loadMs = (1e3 * bytes) / cache.hostLinkBytesPerSecond;
  const sameGroups = old.placement.replicas === placement.replicas && old.placement.pipelineLength === placement.pipelineLength;
  if (sameGroups) return loadMs;
  const sent = placement.replicas > old.placement.replicas && cluster.nodes > 1 ? (1e3 * bytes) / networkBandwidth(cluster.links) : 0;
  return transitionMs + sent + loadMs;
}

interface EpochQuestion {
  readonly epoch: number;
  readonly setting: Setting;
  readonly cache: CacheDecision;
  readonly state: 'none' | 'fill' | 'read';
  readonly transitionMs: number;
}

function buildEpoch(
  context: ElasticContext,
  calibration: Calibration,
  { epoch, setting, cache, state, transitionMs }: EpochQuestion,
): ElasticEpoch {
  const { frozenLayers, placement, batch, steps } = setting;
  const asked: StepQuestion = { frozenLayers, ...placement, balance: context.request.balance, batch };
  const computed = fasterFrozen(context, asked);
  const { question, step } = state === 'none' ? computed : { question: asked, step: modelledStep(context, asked) };
  const active = activeUnits(context, frozenLayers);
  const { stageUnits, stageFrozenUnits, slices } = step;
  const stageBytes = stepStageBytes(context, question, step);
  const times = calibration({
    ...question,
    readMs: cache.movedMs,
    frozenMs: state === 'none' ? computed.frozenMs : state === 'fill' ? cache.fillMs : cache.movedMs,
    computes: state !== 'read',
    step,
  });
  const inputMs = inputWaitMs(context.request, batch, times.stepMs);
  const stepMs = times.stepMs + inputMs;
  const trainMs = steps * stepMs;
  const evaluationMs = epochEvaluationMs(context, question, { epoch, cache, calibration: times.calibration });
  return {
    ...placement,
    epoch,
    frozenLayers,
    batch,
    steps,
    stageUnits,
    stageFrozenUnits,
    isFrozenInside: question.isFrozenInside === true,
    slices,
    stageBytes,
    transitionMs,
    trainMs,
    microBatches: step.microBatches,
    stageParameters: stageSums(
      active.map(({ parameters }) => parameters),
      stageUnits,
    ),
    fits: epochVerdict(stageBytes, context.request.cluster.gpu).fits,
    ...times,
    inputMs,
    stepMs,
    evaluationMs,
    bubbleRate: step.bubbleRate,
    cache: { ...cache, state },
    epochMs: trainMs + transitionMs + evaluationMs,
    samplesPerSecond: (1e3 * batch * placement.replicas) / stepMs,
  };
}

/** The epoch that is evaluated after, and what scales its modelled step. */
interface EvaluatedEpoch {
  readonly epoch: number;
  readonly calibration: number;
  /** The training data's cache; of the evaluation data nothing is kept. */
  readonly cache: Pick<CacheDecision, 'used' | 'movedMs'>;
}

/** Whether what is evaluated after every this many epochs, and after the last, is evaluated after this one; 0: never. */
function isEvaluatedAfter(every: number, epoch: number, epochs: number): boolean {
  return every > 0 && ((epoch + 1) % every === 0 || epoch === epochs - 1);
}

/**
 * Evaluation after an epoch, ms: a forward pass of the samples on all pipelines, and of the training data, whose frozen layers are read
 * where they are cached. Source: `CVTrainer.eval` of PipeTransformer's code, which runs it after the last epoch too.
 */
function epochEvaluationMs(context: ElasticContext, question: StepQuestion, { epoch, calibration, cache }: EvaluatedEpoch): number {
  const { evaluation, epochs, datasetSize } = context.request;
  const isDue = (every: number): boolean => isEvaluatedAfter(every, epoch, epochs);
  const due = [
    { samples: isDue(evaluation.every) ? evaluation.samples : 0, cached: false },
    { samples: isDue(evaluation.trainingEvery) ? datasetSize : 0, cached: cache.used },
  ].filter(({ samples }) => samples > 0);
  if (due.length === 0) return 0;
  const { batch, replicas, frozenLayers } = question;
  const forwardMs = calibration * pipelineForwardMs(context, question);
  return due.reduce((sum, { samples, cached }) => {
    const passMs = forwardMs + (cached ? cache.movedMs : frozenForwardMs(context, 0, frozenLayers, batch));
    return sum + Math.ceil(samples / (batch * replicas)) * (passMs + inputWaitMs(context.request, batch, passMs));
  }, 0);
}
