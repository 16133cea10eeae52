import type { LocatedPartial } from './given';

/** How many layers freeze after each epoch: a fraction of those left, that and the smallest gradient, by changes, or as listed. */
export const freezingNames = ['alpha', 'gradients', 'changes', 'given'] as const;
/** How a pipeline passes its samples: all forwards first, or each backward as soon as it can be. */
export const elasticScheduleNames = ['GPipe', '1F1B'] as const;
/** How pipelines get shorter: halved while the largest stage is not larger than at first, or to the length that is fastest and fits. */
export const shrinkNames = ['halve', 'fastest'] as const;
/** How units are cut into stages: as PipeTransformer does, or with the least maximum of parameters or of time. */
export const balanceNames = ['greedy', 'parameters', 'time'] as const;

/** Epochs of a run: those of PipeTransformer's script, which are asked with, and the most. */
export const usualEpochs = 10;
export const mostEpochs = 10_000;

/** What is known of a data set. */
interface DatasetSizes {
  /** Samples of an epoch, and of the set that is evaluated on. */
  readonly training: number;
  readonly evaluation: number;
  /** Classes of images; null for texts, whose heads differ by task. */
  readonly classes: number | null;
}

/** Data sets by name, with the sizes that their makers give. */
export const datasets = {
  'cifar-10': { training: 50_000, evaluation: 10_000, classes: 10 },
  'cifar-100': { training: 50_000, evaluation: 10_000, classes: 100 },
  'imagenet-1k': { training: 1_281_167, evaluation: 50_000, classes: 1000 },
  'places-365': { training: 1_803_460, evaluation: 36_500, classes: 365 },
  'food-101': { training: 75_750, evaluation: 25_250, classes: 101 },
  'fashion-mnist': { training: 60_000, evaluation: 10_000, classes: 10 },
  mnist: { training: 60_000, evaluation: 10_000, classes: 10 },
  svhn: { training: 73_257, evaluation: 26_032, classes: 10 },
  'squad-1.1': { training: 87_599, evaluation: 10_570, classes: null },
  'sst-2': { training: 67_349, evaluation: 872, classes: 2 },
} as const satisfies Readonly<Record<string, DatasetSizes>>;

type DatasetName = keyof typeof datasets;

export const datasetNames = Object.keys(datasets) as DatasetName[];

/** `[frozen layers, pipeline length, samples per second]` of all pipelines together. */
type WrittenThroughput = [frozenLayers: number, pipelineLength: number, samplesPerSecond: number];

/** `elastic` of a terapipe.json. */
export interface WrittenElastic {
  readonly epochs: number;
  /** A data set whose sizes are known. */
  readonly dataset: DatasetName;
  /** Samples of one epoch, and of one step of one pipeline at the start. */
  readonly datasetSize: number;
  readonly batch: number;
  /** With more replicas the samples of a step grow with them, or stay and are divided. */
  readonly batchScaling: 'scaled' | 'kept';
  readonly freezing: (typeof freezingNames)[number];
  readonly alpha: number;
  /** Path of a log of gradient norms, or of several, one a layer. */
  readonly gradientNorms: string | string[];
  /** Frozen layers of each epoch. */
  readonly frozenLayers: number[];
  /** GPUs of a pipeline at the start. */
  readonly pipelineLength: number;
  readonly balance: (typeof balanceNames)[number];
  readonly microBatches: 'search' | 'table' | number;
  readonly schedule: (typeof elasticScheduleNames)[number];
  /** Slices of every sequence; causal models only. */
  readonly tokenSlices: 'search' | number;
  readonly shrink: (typeof shrinkNames)[number];
  readonly cache: boolean;
  readonly hostMemoryGB: number;
  readonly diskGB: number;
  readonly diskGBps: number;
  readonly hostLinkGBps: number;
  /** What a node's memory hands to its GPUs together. */
  readonly hostMemoryGBps: number;
  readonly transitionSeconds: number;
  /** Samples that one worker, a core, loads and decodes in a second, and workers of each process; with 0 it loads them itself. */
  readonly loaderSamplesPerSecond: number;
  readonly loaderWorkers: number;
  /** Samples that are evaluated on, after how many epochs, and after how many the training data is evaluated on; 0: never. */
  readonly evaluationSamples: number;
  readonly evaluationEvery: number;
  readonly trainingEvaluationEvery: number;
  /** Samples that one GPU takes through all layers in a second, forward only. */
  readonly frozenSamplesPerSecond: number;
  readonly classes: number;
  readonly throughputs: WrittenThroughput[];
  readonly fillingThroughputs: WrittenThroughput[];
}

export type GivenElastic = LocatedPartial<WrittenElastic>;
