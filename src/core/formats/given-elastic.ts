import type { DatasetName } from './elastic-datasets';
import type { balanceNames, elasticScheduleNames, freezingNames, shrinkNames } from './elastic-names';
import type { LocatedPartial } from './given';

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
