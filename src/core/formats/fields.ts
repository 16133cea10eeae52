import { fp8Recipes, narrowFormats } from '../domain/number-formats';
import * as v from 'valibot';
import { instanceNames } from '../cluster/instances';
import type { GpuSpec, LinkSpec } from '../domain/cluster';
import type { CostConstants } from '../domain/cost-constants';
import { attentionKernels } from '../domain/attention-kernel';
import { masterWidths, optimizers } from '../domain/optimizer';
import { rankOrders } from '../domain/rank-order';
import { runtimes } from '../domain/runtime';
import { recomputeModes, recomputeModules } from '../domain/recompute';
import { cudaGraphScopes, expertDispatchers, type Layout } from '../domain/request';
import { namedSchedules, type SchedulesGiven } from '../domain/schedule-names';
import { largest } from './limits';
import { boolean, integer, list, nonNegative, oneOf, orNull, positive, version, type Rule } from '../domain/settings/rules';
import type { CalibrationGiven, TrainingGiven } from './given';
import { sentence } from '../sentence';
import type { WrittenModel } from './written-model';

/** A rule for every field of `T`; nested objects have tables of their own. */
export type Fields<T> = { readonly [K in keyof T]-?: Rule<Exclude<T[K], undefined>> };

/** `model` given inline. */
export const modelFields: { readonly [K in Exclude<keyof WrittenModel, 'modelType'>]: Rule<WrittenModel[K]> } = {
  layers: integer(1, largest.layers),
  hidden: integer(1, largest.hidden),
  heads: integer(1, largest.heads),
  kvHeads: integer(1, largest.kvHeads),
  headDim: integer(1, largest.headDim),
  ffn: integer(1, largest.ffn),
  gatedMlp: boolean,
  experts: orNull(integer(1, largest.experts)),
  activeExperts: orNull(integer(1, largest.activeExperts)),
  expertFfn: orNull(integer(1, largest.expertFfn)),
  encoderLayers: orNull(integer(1, largest.encoderLayers)),
  vocab: integer(0, largest.vocab),
  tiedEmbeddings: boolean,
  maxPositions: orNull(integer(1, largest.maxPositions)),
  positions: oneOf(['learned', 'rotary', 'none']),
  norm: oneOf(['layernorm', 'rmsnorm']),
  qkvBias: boolean,
  attentionOutputBias: boolean,
  mlpBias: boolean,
  qkNorm: boolean,
};

/** PyTorch's names of precisions; GEMMs in 8 and 4 bits are a setting of their own. */
const precisionWords = {
  float32: 'fp32',
  float: 'fp32',
  float16: 'fp16',
  half: 'fp16',
  bfloat16: 'bf16',
  fp8: sentence`keep it "bf16" and set training.gemmPrecision to "fp8"`,
  float8: sentence`keep it "bf16" and set training.gemmPrecision to "fp8"`,
  nvfp4: sentence`keep it "bf16" and set training.gemmPrecision to "nvfp4"`,
} as const;

export const trainingFields: Fields<TrainingGiven> = {
  sequenceLength: integer(1, largest.sequenceLength),
  decoderSequenceLength: integer(1, largest.decoderSequenceLength),
  microBatch: integer(1, largest.microBatch),
  globalBatch: integer(1, largest.globalBatch),
  precision: oneOf(['fp32', 'fp16', 'bf16'], precisionWords),
  gemmPrecision: oneOf(narrowFormats),
  fp8Recipe: oneOf(fp8Recipes),
  fp8ParamGather: boolean,
  optimizer: { ...oneOf(optimizers), expects: sentence`the name of an optimizer, as "adam", "adamw_bnb_8bit" or "muon"` },
  optimizerStateBytes: nonNegative(64),
  masterWeightBytes: oneOf(masterWidths),
  optimizerRank: integer(1, 100_000),
  zeroStage: oneOf([0, 1, 2, 3]),
  recompute: oneOf(recomputeModes),
  recomputeEvery: integer(1, 10_000),
  recomputeLayers: integer(0, largest.recomputeLayers),
  recomputeGroup: integer(1, 10_000),
  recomputeModules: list(v.picklist(recomputeModules), 1, 16, `a list of ${recomputeModules.join(', ')}`),
  runtime: oneOf(runtimes),
  runtimeVersion: version,
  compile: boolean,
  contextParallelComm: oneOf(['all-to-all', 'ring']),
  offloadOptimizer: boolean,
  activationOffloadLayers: integer(0, largest.activationOffloadLayers),
  overlapGradReduce: boolean,
  overlapParamGather: boolean,
  mtpLayers: integer(0, largest.mtpLayers),
  attention: oneOf(['flash', 'unfused']),
  attentionKernel: oneOf(attentionKernels),
  sequenceParallel: boolean,
  asyncTensorParallel: boolean,
  cudaGraphs: oneOf(cudaGraphScopes),
  expertDispatcher: oneOf(expertDispatchers),
  overlapExpertComm: boolean,
  fusedCrossEntropy: boolean,
  dropout: boolean,
  gradAccumulationFp32: boolean,
  gradAccumulationFusion: boolean,
  maxPendingBackward: integer(1, 1_000_000),
  lengths: list(
    v.tuple([v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100_000_000)), v.pipe(v.number(), v.gtValue(0), v.maxValue(1e15))]),
    1,
    1_000_000,
    sentence`a list of [tokens, documents]`,
  ),
};

/** Most groups that `cluster.groups` may have. */
export const mostGroups = 16;

export const layoutFields: Fields<Layout> = {
  tensor: integer(1, largest.tensor),
  pipeline: integer(1, largest.pipeline),
  data: integer(1, largest.data),
  context: integer(1, largest.context),
  expert: integer(1, largest.expert),
  expertTensor: integer(1, largest.expertTensor),
  virtualStages: integer(1, largest.virtualStages),
  order: oneOf(rankOrders),
  stageLayers: list(
    v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(10_000)),
    1,
    100_000,
    'a list of whole numbers from 0 to 10,000, one for each stage',
  ),
  stageNodeGroups: list(
    v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(mostGroups - 1)),
    1,
    100_000,
    `a list of the numbers of groups, from 0 to ${mostGroups - 1}, one for each stage`,
  ),
};

/** Under `cluster`, in addition to `gpu` and `links`. */
export interface ClusterNumbers {
  readonly nodes: number;
  readonly gpusPerNode: number;
}
export const clusterFields: Fields<ClusterNumbers> = { nodes: integer(1, largest.nodes), gpusPerNode: integer(1, largest.gpusPerNode) };

/** Under `cluster` and in its groups. */
export const instanceFields = { instance: oneOf(instanceNames) };

/** Under `cluster.gpu`, in addition to `preset` and `peakTflops`. `memoryGB` is in GiB. */
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

export const constantFields: Fields<CostConstants> = {
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
const settings = v.record(v.pipe(v.string(), v.maxLength(200)), setting);

/** Under `calibration`. */
export const calibrationFields: Fields<CalibrationGiven> = {
  iterationMs: positive(1e9),
  steps: list(
    v.strictObject({ iterationMs: positive(1e9).schema, set: settings }),
    1,
    64,
    'a list of { "iterationMs": 9200, "set": { "layout.tensor": 8 } }',
  ),
};

export const scheduleRule = oneOf(namedSchedules);
const schedulesList = list(v.picklist(namedSchedules), 1, 64, sentence`"all", or a list of ${namedSchedules.join(', ')}`);
export const schedulesRule: Rule<SchedulesGiven> = { ...schedulesList, schema: v.union([v.literal('all'), schedulesList.schema]) };
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
