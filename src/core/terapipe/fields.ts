import * as v from 'valibot';
import { instanceNames } from '../cluster/instances';
import type { GpuSpec, LinkSpec } from '../domain/cluster';
import type { CostConstants } from '../domain/slice-cost';
import type { Layout } from '../domain/request';
import { namedSchedules, type ScheduleChoices } from '../domain/schedule-names';
import { integer, list, nonNegative, choiceRule, positive, type Rule } from '../domain/settings/rules';
import { keyRules } from '../domain/settings/setting';
import { settings } from '../domain/settings/table';
import type { CalibrationSettings, TrainingSettings } from '../run/given';
import { sentence } from '../sentence';

/** A rule for every field of `T`; nested objects have tables of their own. */
export type Fields<T> = { readonly [K in keyof T]-?: Rule<Exclude<T[K], undefined>> };

/** Under `training`. */
export const trainingFields: Fields<TrainingSettings> = { ...keyRules(settings.training), mtpLayers: settings.model.mtpLayers.key };

/** Under `layout`. */
export const layoutFields: Fields<Layout> = keyRules(settings.layout);

/** Under `cluster`, next to `gpu` and `links`. */
export const clusterFields = keyRules(settings.cluster);

/** Under `cluster` and in its groups. */
export const instanceFields = { instance: choiceRule(instanceNames) };

/** Under `cluster.gpu`, next to `preset` and `peakTflops`. `memoryGB` is in GiB. */
export interface GpuNumbers {
  readonly memoryGB: number;
  readonly memoryTBps: number;
  readonly gemmEfficiency: number;
  readonly powerWatts: number;
}
export const gpuFields: Fields<GpuNumbers> = {
  memoryGB: positive(100_000),
  memoryTBps: positive(10_000),
  gemmEfficiency: positive(1),
  powerWatts: positive(100_000),
};
export const peakTflopsFields: Fields<GpuSpec['peakTflops']> = {
  fp32: positive(1_000_000),
  fp16: positive(1_000_000),
  bf16: positive(1_000_000),
  fp8: positive(1_000_000),
  nvfp4: positive(1_000_000),
};

/** Under `cluster.links`. */
export const linkFields: Fields<Pick<LinkSpec, 'nicGBps' | 'nicEfficiency' | 'nicSharedEfficiency' | 'hostGBps' | 'nvlinkDomain'>> = {
  nicGBps: positive(1_000_000),
  nicEfficiency: positive(1),
  nicSharedEfficiency: positive(1),
  hostGBps: positive(1_000_000),
  nvlinkDomain: integer(1, 1_000_000),
};
export const intraNodeBusFields: Fields<LinkSpec['intraNodeBusGBps']> = {
  2: positive(1_000_000),
  4: positive(1_000_000),
  8: positive(1_000_000),
};
export const latencyFields: Fields<LinkSpec['allReduceLatencyUs']> = { base: nonNegative(1_000_000), perDoubling: nonNegative(1_000_000) };

/** Files give all but what only a profile measures. */
export const constantFields: Fields<Omit<CostConstants, 'optimizerNsPerParameter'>> = {
  gemmHalfSize: nonNegative(1_000_000),
  issueFloorUs: nonNegative(1_000_000),
  memoryEfficiency: positive(1),
};

const setting = v.union([
  v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  v.number(),
  v.boolean(),
  v.pipe(v.array(v.number()), v.maxLength(10_000)),
]);
const changedSettings = v.record(v.pipe(v.string(), v.maxLength(200)), setting);

/** Under `calibration`. */
export const calibrationFields: Fields<CalibrationSettings> = {
  iterationMs: positive(1e9),
  steps: list(
    v.strictObject({ iterationMs: positive(1e9).schema, set: changedSettings }),
    1,
    64,
    'a list of { "iterationMs": 9200, "set": { "layout.tensor": 8 } }',
  ),
};

const schedulesList = list(v.picklist(namedSchedules), 1, 64, sentence`"all", or a list of ${namedSchedules.join(', ')}`);
export const schedulesRule: Rule<ScheduleChoices> = { ...schedulesList, schema: v.union([v.literal('all'), schedulesList.schema]) };
/** A share of each GPU's memory. */
export const keepFreeRule = nonNegative(0.5);

const sliceLength = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100_000_000));
const chunkSequences = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1_000_000));
const sliceLengths = v.pipe(v.array(sliceLength), v.minLength(1), v.maxLength(100_000));

/** The paper's notation: `[[batch, [tokens, ...]], ...]`; `"drain"` after the last chunk of each round but the last. */
export type WrittenScheme = ([batch: number, tokens: number[]] | [batch: number, tokens: number[], drains: 'drain'])[];
export const slicingFields: Fields<{ readonly unit: number; readonly scheme: WrittenScheme }> = {
  unit: integer(1, 100_000_000),
  scheme: list(
    v.union([v.strictTuple([chunkSequences, sliceLengths]), v.strictTuple([chunkSequences, sliceLengths, v.literal('drain')])]),
    1,
    100_000,
    'a list of [batch, [tokens, ...]] pairs of whole numbers above 0, with a third entry "drain" where a round ends',
  ),
};

const milliseconds = v.pipe(v.number(), v.minValue(0), v.maxValue(1e9));
const maximumAxis = 4096;

function axis(minimum: number, words: string): Rule<number[]> {
  return list(v.pipe(v.number(), v.integer(), v.minValue(minimum), v.maxValue(100_000_000)), 1, maximumAxis, words);
}

const matrix = list(
  v.pipe(v.array(milliseconds), v.minLength(1), v.maxLength(maximumAxis)),
  1,
  maximumAxis,
  'a list of rows of times in ms, one row per length, one column per context',
);

/** Under `cost.table`: either `ms` (forward and backward together) or both of the other two. */
export const tableFields: Fields<{
  readonly tokens: number[];
  readonly contexts: number[];
  readonly ms: number[][];
  readonly forwardMs: number[][];
  readonly backwardMs: number[][];
}> = {
  tokens: axis(1, 'a list of slice lengths, ascending whole numbers above 0'),
  contexts: axis(0, 'a list of context lengths, ascending whole numbers from 0'),
  ms: matrix,
  forwardMs: matrix,
  backwardMs: matrix,
};
