import { savedParameterBytes } from '../../../core/domain/checkpoint';
import { gpusUsed, type PlanRequest } from '../../../core/domain/request';
import { parameterCount } from '../../../core/model/parameters';
import { dalyInterval, goodput } from './failures';

/** A figure with what bounds it: of published runs where the user gives none. */
export interface Ranged {
  readonly low: number;
  readonly usual: number;
  readonly high: number;
}

/**
 * Failures that stop a run, for 1,000 GPU-days. BLOOM had one to two a week on 384 GPUs (arXiv 2211.05100): 0.37 to 0.74; Llama 3 405B had
 * 419 in 54 days on 16,384 (arXiv 2407.21783, section 3.3.4): 0.47; OPT-175B 35 restarts by hand and an estimated 70 or more others in two
 * months on 992 (arXiv 2205.01068, section 2.5): 1.8.
 */
export const usualFailures: Ranged = { low: 0.37, usual: 0.47, high: 1.8 };

/**
 * Minutes from a failure to the first step. Of 73 automatic retries on 504 B200 the median took 11 (a report on that cluster by SKT,
 * Upstage, Lablup and others, 2026); half and three times of it where nobody measured.
 */
export const usualRestart: Ranged = { low: 5.5, usual: 11, high: 33 };

/**
 * GB/s at which a node writes a checkpoint. Llama 3's store sustained 2 TB/s for 2,048 nodes (section 3.3.1); BLOOM saved 2.3 TB from 48
 * nodes in 40 s (BigScience's chronicles of tr11-176B, March 2022).
 */
export const usualStorage: Ranged = { low: 0.5, usual: 1, high: 2 };

/** Tokens that are trained at a rate. */
export interface Phase {
  readonly tokens: number;
  /** Of all GPUs, the step's own time only. */
  readonly tokensPerSecond: number;
  /** What a step takes over its prediction, at the fast and at the slow end. */
  readonly range: readonly [low: number, high: number];
}

export interface RunConditions {
  readonly failures: Ranged;
  readonly restartMinutes: Ranged;
  /** GB/s a node. */
  readonly storage: Ranged;
  /** Training between checkpoints; null: Daly's. */
  readonly intervalMinutes: number | null;
  /** Of one GPU for an hour; null: not given. */
  readonly price: number | null;
  /** Energy of the data centre over that of its GPUs. */
  readonly overhead: number;
}

/** Where a run's time goes, and what it takes. */
export interface WholeRun {
  readonly gpus: number;
  readonly tokens: number;
  readonly checkpointBytes: number;
  /** Days of steps only. */
  readonly trainingDays: Ranged;
  readonly days: Ranged;
  readonly goodput: Ranged;
  readonly failures: Ranged;
  readonly hoursBetweenFailures: Ranged;
  readonly saveSeconds: Ranged;
  readonly intervalMinutes: Ranged;
  readonly gpuHours: Ranged;
  /** Of the GPUs at their power limit, with `overhead`; null: the GPU's is not known. */
  readonly megawattHours: Ranged | null;
  readonly cost: Ranged | null;
}

/** Bytes of a checkpoint to resume training: `savedParameterBytes` of every parameter. Frozen weights count as trained ones. */
export function checkpointBytes({ model, training }: Pick<PlanRequest, 'model' | 'training'>): number {
  return parameterCount(model) * savedParameterBytes(training);
}

/**
 * Time, energy and cost of a whole run, of phases one after the other: docs/model/run.md. `low` is the shortest: steps at the fast end,
 * fewest failures, quickest saves; `high` the longest.
 */
export function wholeRun(request: PlanRequest, phases: readonly Phase[], conditions: RunConditions): WholeRun {
  const gpus = gpusUsed(request.layout);
  const bytes = checkpointBytes(request);
  const nodes = Math.max(1, Math.ceil(gpus / request.cluster.gpusPerNode));
  const inputs = { gpus, nodes, bytes, phases, conditions };
  const [low, usual, high] = [oneEnd(inputs, 'low'), oneEnd(inputs, 'usual'), oneEnd(inputs, 'high')];
  const ranged = (read: (end: ReturnType<typeof oneEnd>) => number): Ranged => ({ low: read(low), usual: read(usual), high: read(high) });
  const gpuHours = ranged(({ days }) => 24 * days * gpus);
  const { powerWatts } = request.cluster.gpu;
  const { price, overhead } = conditions;
  return {
    gpus,
    tokens: phases.reduce((sum, { tokens }) => sum + tokens, 0),
    checkpointBytes: bytes,
    trainingDays: ranged(({ training }) => training),
    days: ranged(({ days }) => days),
    goodput: ranged(({ share }) => share),
    failures: ranged(({ failures }) => failures),
    hoursBetweenFailures: ranged(({ between }) => between / 3600),
    saveSeconds: ranged(({ save }) => save),
    intervalMinutes: ranged(({ interval }) => interval / 60),
    gpuHours,
    megawattHours: powerWatts === undefined ? null : scaled(gpuHours, (powerWatts * overhead) / 1e6),
    cost: price === null ? null : scaled(gpuHours, price),
  };
}

function scaled({ low, usual, high }: Ranged, factor: number): Ranged {
  return { low: low * factor, usual: usual * factor, high: high * factor };
}

interface End {
  readonly gpus: number;
  readonly nodes: number;
  readonly bytes: number;
  readonly phases: readonly Phase[];
  readonly conditions: RunConditions;
}

function oneEnd({ gpus, nodes, bytes, phases, conditions }: End, end: keyof Ranged) {
  const factor = ({ range: [low, high] }: Phase): number => ({ low, usual: 1, high })[end];
  const training = phases.reduce((sum, phase) => sum + (phase.tokens / phase.tokensPerSecond / 86_400) * factor(phase), 0);
  const opposite = end === 'low' ? 'high' : end === 'high' ? 'low' : 'usual';
  const between = 86_400_000 / (conditions.failures[end] * gpus);
  const save = bytes / (conditions.storage[opposite] * 1e9 * nodes);
  const times = { betweenSeconds: between, saveSeconds: save, restartSeconds: 60 * conditions.restartMinutes[end] };
  const interval = conditions.intervalMinutes === null ? dalyInterval(times) : 60 * conditions.intervalMinutes;
  const share = goodput(times, interval);
  const days = training / share;
  return { training, days, share, between, save, interval, failures: (days * 86_400) / between };
}
