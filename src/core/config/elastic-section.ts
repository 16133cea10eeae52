import * as v from 'valibot';
import { balanceNames, freezingNames } from './elastic-names';
import type { Fields } from './fields';
import { boolean, fraction, integer, list, nonNegative, oneOf, path, positive } from './rules';
import type { Given } from './run';

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

const throughputs = list(
  v.strictTuple([
    v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(10_000)),
    v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100_000)),
    v.pipe(v.number(), v.gtValue(0), v.maxValue(1e12)),
  ]),
  1,
  10_000,
  'a list of [frozen layers, pipeline length, samples per second]',
);

export const elasticFields: Fields<WrittenElastic> = {
  epochs: integer(1, 10_000),
  datasetSize: integer(1, 1_000_000_000),
  batch: integer(1, 10_000_000),
  batchScaling: oneOf(['scaled', 'kept']),
  freezing: oneOf(freezingNames),
  alpha: fraction,
  gradientNorms: path,
  frozenLayers: list(
    v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(10_000)),
    1,
    10_000,
    'a list of whole numbers from 0, one an epoch',
  ),
  pipelineLength: integer(1, 100_000),
  balance: oneOf(balanceNames),
  microBatches: oneOf(['search', 'table']),
  cache: boolean,
  hostMemoryGB: nonNegative(1_000_000),
  diskGB: nonNegative(1_000_000_000),
  diskGBps: positive(100_000),
  hostLinkGBps: positive(100_000),
  transitionSeconds: nonNegative(1_000_000),
  classes: integer(1, 10_000_000),
  throughputs,
  fillingThroughputs: throughputs,
};
