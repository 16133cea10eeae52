import type { balanceNames, freezingNames } from './terapipe/elastic-names';
import type { Given } from './given';

/** `[frozen layers, pipeline length, samples per second]` of all pipelines together. */
export type WrittenThroughput = [frozenLayers: number, pipelineLength: number, samplesPerSecond: number];

/** `elastic` of a terapipe.json. */
export interface WrittenElastic {
  readonly epochs: number;
  /** Samples of one epoch, and of one step of one pipeline at the start. */
  readonly datasetSize: number;
  readonly batch: number;
  /** With more replicas the samples of a step grow with them, or stay and are divided. */
  readonly batchScaling: 'scaled' | 'kept';
  readonly freezing: (typeof freezingNames)[number];
  readonly alpha: number;
  /** Path of a log of gradient norms. */
  readonly gradientNorms: string;
  /** Frozen layers of each epoch. */
  readonly frozenLayers: number[];
  /** GPUs of a pipeline at the start. */
  readonly pipelineLength: number;
  readonly balance: (typeof balanceNames)[number];
  readonly microBatches: 'search' | 'table';
  readonly cache: boolean;
  readonly hostMemoryGB: number;
  readonly diskGB: number;
  readonly diskGBps: number;
  readonly hostLinkGBps: number;
  readonly transitionSeconds: number;
  readonly classes: number;
  readonly throughputs: WrittenThroughput[];
  readonly fillingThroughputs: WrittenThroughput[];
}

export type GivenElastic = Given<WrittenElastic>;
