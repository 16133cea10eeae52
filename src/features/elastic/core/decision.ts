import { throwIfCancelled, type CancelSignal } from '../../../core/errors';
import { formatCount, formatDuration, formatNumber } from '../../../core/format';
import { counted, sentence, type Sentence } from '../../../core/sentence';
import { placePipelines } from './auto-dp';
import { elasticContext } from './context';
import type { ElasticRequest } from './request';
import { allMechanisms, runEpochs, totalEpochMs } from './run-epochs';

/** A run that starts with pipelines of one length. Its first step has as many samples as that of the run that was asked for. */
interface Start {
  /** GPUs of a pipeline in the first epoch. */
  readonly pipelineLength: number;
  /** Samples of a step on one pipeline. */
  readonly batch: number;
  /** The one asked for, or 1F1B where only that fits: on one GPU it is the accumulation of gradients. */
  readonly schedule: ElasticRequest['schedule'];
  readonly fits: boolean;
  readonly totalMs: number;
  /** With no layer frozen. */
  readonly withoutFreezingMs: number;
}

/** Whether to pipeline and to freeze at all. Plain data. */
export interface ElasticDecision {
  readonly asked: Start;
  /** The fastest start that fits; the one asked for where another gains less than 5 %, or none fits. */
  readonly best: Start;
  /** What to do. */
  readonly headline: Sentence;
  /** How large its steps are and what it gains; null where the run is as asked for, or nothing fits. */
  readonly gain: Sentence | null;
  /** What freezing gains on the best start; null where nothing fits. */
  readonly freezing: Sentence | null;
}

/** Another start is proposed from this gain on: less is within the error of the model. */
const leastGain = 1.05;

/**
 * Compares the run that was asked for with the same run on other lengths of pipelines at the start, one GPU among them. Measured rates hold
 * for the pipelines that were measured, so all are compared as modelled.
 * @param frozen frozen layers of every epoch.
 * @throws ExpectedError as `runEpochs`; CancelledError.
 */
export function decideElastic(request: ElasticRequest, frozen: readonly number[], signal?: CancelSignal): ElasticDecision {
  const modelled = { ...request, throughputs: [], fillingThroughputs: [] };
  const asked = toStart(modelled, frozen, signal);
  const others = startLengths(request).flatMap((firstLength) => {
    const batch = equalBatch(request, firstLength);
    if (batch < 1) return [];
    const start = toStart({ ...modelled, firstLength, batch }, frozen, signal);
    return [start.fits ? start : toStart({ ...modelled, firstLength, batch, schedule: '1F1B' }, frozen, signal)];
  });
  const fitting = others.filter(({ fits }) => fits);
  const fastest = fitting.reduce<Start | null>((best, start) => (best === null || start.totalMs < best.totalMs ? start : best), null);
  const isBetter = fastest !== null && (!asked.fits || fastest.totalMs * leastGain <= asked.totalMs);
  const best = isBetter ? fastest : asked;
  if (best.fits) return { asked, best, ...startText(request, asked, best), freezing: freezingText(best) };
  const headline = sentence`Does not fit on pipelines of any length: lower elastic.batch, or set training.recompute to "full".`;
  return { asked, best, headline, gain: null, freezing: null };
}

/** By halves from a whole node, without the length that was asked for. */
function startLengths({ cluster, firstLength }: ElasticRequest): number[] {
  const lengths: number[] = [];
  for (let length = cluster.gpusPerNode; length >= 1; length = Math.floor(length / 2)) if (length !== firstLength) lengths.push(length);
  return lengths;
}

/** Samples of a step on each pipeline of `length` GPUs, for as many on all of them as in the first step that was asked for. */
function equalBatch({ batch, cluster, firstLength, datasetSize }: ElasticRequest, length: number): number {
  const replicas = placePipelines(cluster, length, length).replicas;
  return replicas > datasetSize ? 0 : Math.floor((batch * placePipelines(cluster, firstLength, firstLength).replicas) / replicas);
}

function toStart(request: ElasticRequest, frozen: readonly number[], signal?: CancelSignal): Start {
  throwIfCancelled(signal);
  const context = elasticContext(request);
  const epochs = runEpochs(context, frozen, allMechanisms, signal);
  const without = runEpochs(context, frozen.map(() => 0), allMechanisms, signal); // prettier-ignore
  return {
    pipelineLength: request.firstLength,
    batch: request.batch,
    schedule: request.schedule,
    fits: epochs.every(({ fits }) => fits),
    totalMs: totalEpochMs(epochs),
    withoutFreezingMs: totalEpochMs(without),
  };
}

function startText(request: ElasticRequest, asked: Start, best: Start): Pick<ElasticDecision, 'headline' | 'gain'> {
  const { pipelineLength } = best;
  const start =
    pipelineLength === 1
      ? sentence`Do not pipeline this model: one GPU a replica`
      : sentence`Start with pipelines of ${pipelineLength} GPUs`;
  if (best === asked) return { headline: sentence`${start}, as the config sets.`, gain: null };
  const samples = formatCount(best.batch * placePipelines(request.cluster, pipelineLength, pipelineLength).replicas);
  const gain = asked.fits
    ? sentence`${formatNumber(asked.totalMs / best.totalMs)} times as fast as with pipelines of ${counted(asked.pipelineLength, 'GPU')}`
    : sentence`and pipelines of ${counted(asked.pipelineLength, 'GPU')} do not fit`;
  const accumulates = best.schedule === request.schedule ? sentence`` : sentence`, gradients accumulated over micro-batches`;
  const each = sentence`${counted(best.batch, 'sample')} each (${samples} a step${accumulates})`;
  return { headline: sentence`${start}.`, gain: sentence`With ${each} it takes ${formatDuration(best.totalMs)}, ${gain}.` };
}

function freezingText({ totalMs, withoutFreezingMs }: Start): Sentence {
  const gain = withoutFreezingMs / totalMs;
  return gain < leastGain
    ? sentence`Freezing layers gains nothing there: ${formatDuration(withoutFreezingMs)} without it.`
    : sentence`Freezing layers makes it ${formatNumber(gain)} times as fast: ${formatDuration(withoutFreezingMs)} without it.`;
}
