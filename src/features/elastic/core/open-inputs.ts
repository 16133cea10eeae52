import { throwIfCancelled, type CancelSignal } from '../../../core/errors';
import { bytesPerGiB, formatCount } from '../../../core/format';
import { maximum, minimum } from '../../../core/numbers';
import { sentence, type Sentence } from '../../../core/sentence';
import { elasticContext, frozenForwardMs, type ElasticContext } from './context';
import type { ElasticRequest } from './request';
import { allMechanisms, runEpochs, totalEpochMs } from './run-epochs';

/** The run with one input, or all of them, at some value. */
interface Outcome {
  readonly totalMs: number;
  readonly withoutFreezingMs: number;
  /** Against no freezing. */
  readonly speedup: number;
}

/** An input that the files leave open, and the run at each value that it may have. */
export interface OpenInput {
  /** What to set in terapipe.json. */
  readonly keys: readonly string[];
  /** The planned value first. */
  readonly outcomes: readonly (Outcome & { readonly value: Sentence })[];
}

/** What a run's figures may be over the inputs that the files leave open. Plain data. */
export interface ElasticRange {
  readonly speedup: readonly [least: number, most: number];
  readonly totalMs: readonly [least: number, most: number];
  readonly withoutFreezingMs: readonly [least: number, most: number];
  /** Those that move the gain or the time by 5 % or more, the largest first. */
  readonly inputs: readonly OpenInput[];
}

interface Value {
  readonly value: Sentence;
  readonly set: (request: ElasticRequest) => ElasticRequest;
}

interface Question {
  readonly keys: readonly string[];
  /** The planned one first. */
  readonly values: readonly Value[];
}

/** Images of ImageNet that one worker decodes in a second at the least (evaluation in PipeTransformer's ImageNet log: 560 with four). */
const decodedPerSecond = 140;
/** The rate of frozen layers on one GPU that PipeTransformer's README states, over ours for its GPU: 138 of 203 images a second. */
const measuredOverModelled = 138.3 / 203;
/** PipeTransformer's own number of workers, and the other ends of the ranges in docs/elastic.md: much host memory, and a slow disk. */
const usualWorkers = 4;
const largeHostGiB = 768;
const slowDiskGBps = 0.5;
/** An input that moves the figures by less is not asked for. */
const leastEffect = 1.05;

/**
 * The run over all values of the inputs that decide and that no file sets: how images are loaded, the rate of frozen layers, memory of the
 * hosts and speed of their disks. All combinations are planned; their steps are simulated once.
 * @param frozen frozen layers of every epoch.
 * @throws ExpectedError as `runEpochs`; CancelledError.
 */
export function elasticRange(request: ElasticRequest, frozen: readonly number[], signal?: CancelSignal): ElasticRange {
  const context = elasticContext(request);
  const questions = openQuestions(context);
  const outcome = (changed: ElasticRequest): Outcome => {
    throwIfCancelled(signal);
    const [totalMs, withoutFreezingMs] = [frozen, frozen.map(() => 0)].map((layers) =>
      totalEpochMs(runEpochs({ ...context, request: changed }, layers, allMechanisms, signal)),
    ) as [number, number];
    return { totalMs, withoutFreezingMs, speedup: withoutFreezingMs / totalMs };
  };
  const all = combinations(request, questions).map(outcome);
  const range = (figure: keyof Outcome): readonly [number, number] => {
    const values = all.map((one) => one[figure]);
    return [minimum(values), maximum(values)];
  };
  const inputs = questions.map(({ keys, values }) => ({
    keys,
    outcomes: values.map(({ value, set }) => ({ value, ...outcome(set(request)) })),
  }));
  return {
    speedup: range('speedup'),
    totalMs: range('totalMs'),
    withoutFreezingMs: range('withoutFreezingMs'),
    inputs: inputs.filter((input) => effect(input) >= leastEffect).sort((a, b) => effect(b) - effect(a)),
  };
}

/** The larger of what it does to the gain and to the time, as a factor. */
function effect({ outcomes }: OpenInput): number {
  const factor = (values: readonly number[]): number => maximum(values) / minimum(values);
  return Math.max(factor(outcomes.map(({ speedup }) => speedup)), factor(outcomes.map(({ totalMs }) => totalMs)));
}

/** The request with one value of each question, the planned one first. */
function combinations(request: ElasticRequest, questions: readonly Question[]): ElasticRequest[] {
  return questions.reduce<ElasticRequest[]>((before, { values }) => before.flatMap((one) => values.map(({ set }) => set(one))), [request]);
}

function openQuestions(context: ElasticContext): Question[] {
  const { request } = context;
  const { cache } = request;
  const isAssumed = (key: string): boolean => request.assumptions.some((assumption) => assumption.key === `elastic.${key}`);
  const questions = [...loaderQuestion(request, isAssumed('loaderWorkers')), ...frozenQuestion(context)];
  if (cache.enabled && isAssumed('hostMemoryGB'))
    questions.push(
      cacheQuestion('hostMemoryGB', [
        [sentence`${cache.hostMemoryBytes / bytesPerGiB} GiB of host memory`, {}],
        [sentence`${largeHostGiB} GiB of host memory`, { hostMemoryBytes: largeHostGiB * bytesPerGiB }],
      ]),
    );
  if (cache.enabled && isAssumed('diskGBps'))
    questions.push(
      cacheQuestion('diskGBps', [
        [sentence`a disk of ${cache.diskBytesPerSecond / 1e9} GB/s`, {}],
        [sentence`a disk of ${slowDiskGBps} GB/s`, { diskBytesPerSecond: 1e9 * slowDiskGBps }],
      ]),
    );
  return questions;
}

function cacheQuestion(key: string, values: readonly (readonly [Sentence, Partial<ElasticRequest['cache']>])[]): Question {
  return {
    keys: [`elastic.${key}`],
    values: values.map(([value, changes]) => ({ value, set: (one) => ({ ...one, cache: { ...one.cache, ...changes } }) })),
  };
}

/** Images are decoded by workers or by the training process itself; texts are tokens already. */
function loaderQuestion({ model, loader }: ElasticRequest, areWorkersAssumed: boolean): Question[] {
  if (model.ends.patchWidth === null || (loader !== null && !areWorkersAssumed)) return [];
  const rate = loader?.samplesPerSecond ?? decodedPerSecond;
  const byWorkers = (workers: number): Value => ({
    value:
      workers === 0
        ? sentence`the training process decodes ${rate} images a second itself`
        : sentence`${workers} workers decode ${rate} images a second each`,
    set: (one) => ({ ...one, loader: { samplesPerSecond: rate, workers } }),
  });
  const planned: Value = { value: sentence`images are always loaded in time`, set: (one) => one };
  const keys = ['elastic.loaderSamplesPerSecond', 'elastic.loaderWorkers'];
  return [
    loader === null
      ? { keys, values: [planned, byWorkers(usualWorkers), byWorkers(0)] }
      : { keys: keys.slice(1), values: [byWorkers(loader.workers), byWorkers(0)] },
  ];
}

/** Frozen layers run eagerly for a whole batch, slower than modelled where that was measured. */
function frozenQuestion(context: ElasticContext): Question[] {
  const { model, frozenSamplesPerSecond, batch } = context.request;
  if (frozenSamplesPerSecond !== null) return [];
  const modelled = (1e3 * batch) / frozenForwardMs(context, 0, model.spec.layers, batch);
  const slower = modelled * measuredOverModelled;
  const text = (rate: number): Sentence => sentence`frozen layers run ${formatCount(rate)} samples a second on a GPU`;
  return [
    {
      keys: ['elastic.frozenSamplesPerSecond'],
      values: [
        { value: text(modelled), set: (one) => one },
        { value: text(slower), set: (one) => ({ ...one, frozenSamplesPerSecond: slower }) },
      ],
    },
  ];
}
