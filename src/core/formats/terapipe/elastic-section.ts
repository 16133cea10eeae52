import type { WrittenElastic } from '../given-elastic';
import * as v from 'valibot';
import { balanceNames, freezingNames } from './elastic-names';
import type { Fields } from './fields';
import { boolean, fraction, integer, list, nonNegative, oneOf, path, positive } from '../rules';

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
