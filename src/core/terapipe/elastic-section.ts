import type { WrittenElastic } from '../run/elastic';
import * as v from 'valibot';
import { balanceNames, datasetNames, elasticScheduleNames, freezingNames, mostEpochs, shrinkNames } from '../run/elastic';
import type { Fields } from './fields';
import { boolean, fraction, integer, integerOr, list, nonNegative, choiceRule, paths, positive } from '../domain/settings/rules';

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
  epochs: integer(1, mostEpochs),
  dataset: choiceRule(datasetNames),
  datasetSize: integer(1, 1_000_000_000),
  batch: integer(1, 10_000_000),
  batchScaling: choiceRule(['scaled', 'kept']),
  freezing: choiceRule(freezingNames),
  alpha: fraction,
  gradientNorms: paths,
  frozenLayers: list(
    v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(10_000)),
    1,
    10_000,
    'a list of whole numbers from 0, one an epoch',
  ),
  pipelineLength: integer(1, 100_000),
  balance: choiceRule(balanceNames),
  microBatches: integerOr(['search', 'table'], 1, 10_000),
  schedule: choiceRule(elasticScheduleNames),
  tokenSlices: integerOr(['search'], 1, 64),
  shrink: choiceRule(shrinkNames),
  cache: boolean,
  hostMemoryGB: nonNegative(1_000_000),
  diskGB: nonNegative(1_000_000_000),
  diskGBps: positive(100_000),
  hostLinkGBps: positive(100_000),
  hostMemoryGBps: positive(100_000),
  transitionSeconds: nonNegative(1_000_000),
  loaderSamplesPerSecond: positive(1e9),
  loaderWorkers: integer(0, 10_000),
  evaluationSamples: integer(0, 1_000_000_000),
  evaluationEvery: integer(0, 10_000),
  trainingEvaluationEvery: integer(0, 10_000),
  frozenSamplesPerSecond: positive(1e12),
  classes: integer(1, 10_000_000),
  throughputs,
  fillingThroughputs: throughputs,
};
