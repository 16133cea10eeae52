import { byDefault } from '../../domain/located';
import { choice, fixed } from '../../languages/reads';
import { own } from '../../records';
import type { Facts } from '../../run/facts';
import { sentence } from '../../sentence';
import { flagWords, megatronFacts } from '../megatron/megatron-flags';
import { flexDispatchers, tokenDispatchers } from '../megatron/core-keys';
import type { ShellProgram } from '../shell/program';
import { flagFact, type LocatedFlag } from '../tables/located-flag';
import { knownWord, sizeUnlessOpen, word } from '../tables/reads';
import { factsOfTable, lenient, row, tableReads, type FlagTable } from '../tables/table';
import { isModelZooScript, starter } from './recognise';

type Flags = ReadonlyMap<string, LocatedFlag>;

/** Variables of `runtime_configs/benchmarking` and `sbatch_benchmarking.sh`. */
const variables: FlagTable = {
  flavor: [row('MODEL', word)],
  tensor: [row('TP', sizeUnlessOpen)],
  pipeline: [row('PP', sizeUnlessOpen)],
  virtualStages: [row('VPP', sizeUnlessOpen)],
  context: [row('CP', sizeUnlessOpen)],
  expert: [row('EP', sizeUnlessOpen)],
  microBatch: [row('MBS', sizeUnlessOpen)],
  globalBatch: [row('GBS', sizeUnlessOpen)],
  sequenceLength: [row('SEQ_LEN', sizeUnlessOpen)],
  nodes: [row('NNODES', sizeUnlessOpen)],
  precision: [row('PR', knownWord({ bf16: 'bf16', fp8: 'fp8', mxfp8: 'fp8' } as const))],
  fp8Recipe: [row('PR', knownWord({ fp8: 'blockwise', mxfp8: 'mxfp8' } as const))],
  expertDispatcher: [row('DISPATCHER', lenient(choice({ ...tokenDispatchers, ...flexDispatchers })))],
  offloadOptimizer: [row('OPTIMIZER_OFFLOAD', fixed('cpu'))],
  passOverlap: [row('A2A_OVERLAP', fixed(true))],
};

const clusterOfFour = 'GB200_CLUSTER';
const names = new Map(tableReads(variables).map(([name]) => [name, 'one' as const]));

/** A script of Megatron-MoE-ModelZoo: variables and flags of Megatron-LM; of several runs the first. */
export const modelZooProgram: ShellProgram = {
  format: 'moe-modelzoo',
  isIts: isModelZooScript,
  settings: { words: (name) => (name === clusterOfFour ? 'one' : (names.get(name) ?? flagWords(name))) },
  startedWithVariables: starter,
  read: (flags) => {
    const written = { ...factsOfTable(variables, flags), ...megatronFacts(flags) };
    const sized = { ...sizesOfModel(written), ...written };
    return { facts: { ...silentFacts(sized, flags), ...withoutFold(sized) }, modelFiles: [] };
  },
};

/** Tensor, pipeline, expert and virtual sizes, sequences of the batch, nodes; then layers of the end stages where 61 are not divisible. */
type Sizes = readonly [
  tensor: number,
  pipeline: number,
  expert: number,
  virtual: number,
  microBatch: number,
  batch: number,
  nodes: number,
  ends?: readonly [first: number, last: number],
];

/** `BENCHMARKING_MODEL_CONFIGS` of runtime.conf. */
const modelSizes: Readonly<Record<string, Sizes>> = {
  'Mixtral-8x2B': [1, 1, 8, 1, 2, 256, 8],
  'Mixtral-8x7B': [1, 4, 8, 8, 1, 256, 8],
  'Mixtral-8x22B': [2, 8, 8, 7, 1, 256, 16],
  'DeepSeek-V2': [1, 16, 8, 2, 1, 1024, 32, [2, 2]],
  'DeepSeek-V2-Lite': [1, 1, 8, 1, 1, 512, 1],
  'DeepSeek-V3': [1, 16, 64, 1, 1, 8192, 128, [4, 1]],
  'Qwen3-235B-A22B': [2, 8, 32, 4, 1, 256, 32],
  'Qwen3-30B-A3B': [1, 1, 8, 1, 1, 256, 4],
  'Qwen3-Next-80B-A3B': [1, 4, 8, 3, 1, 256, 8],
  'Kimi-K2': [1, 4, 64, 4, 1, 128, 16, [4, 1]],
};

/** What its table has for a model, where the script sets no other. */
function sizesOfModel({ flavor, pipeline, pipelineLayout }: Facts): Facts {
  const sizes = own(modelSizes, flavor?.value ?? '');
  if (sizes === undefined) return {};
  const [tensor, stages, expert, virtual, microBatch, batch, nodes, ends] = sizes;
  const reason = sentence`runtime.conf of the model zoo has it for this model`;
  const isUneven = ends !== undefined && pipelineLayout === undefined && (pipeline?.value ?? stages) > 1;
  return {
    tensor: byDefault(tensor, reason),
    pipeline: byDefault(stages, reason),
    expert: byDefault(expert, reason),
    virtualStages: byDefault(virtual, reason),
    microBatch: byDefault(microBatch, reason),
    globalBatch: byDefault(batch, reason),
    nodes: byDefault(nodes, reason),
    // 94 layers, embedding and loss
    ...(flavor?.value === 'Qwen3-235B-A22B' && { embeddingAsLayer: byDefault(true, reason), lossAsLayer: byDefault(true, reason) }),
    ...(isUneven && { firstStageLayers: byDefault(ends[0], reason), lastStageLayers: byDefault(ends[1], reason) }),
  };
}

/** A layout has the virtual stages itself. */
function withoutFold({ virtualStages, ...facts }: Facts): Facts {
  return virtualStages === undefined || facts.pipelineLayout !== undefined || virtualStages.value === 1
    ? facts
    : { ...facts, virtualStages };
}

/** What `model_configs/benchmarking` sets for every model, and sbatch_benchmarking.sh where nothing is set. */
function silentFacts({ precision, fp8Recipe, offloadOptimizer }: Facts, flags: Flags): Facts {
  const reason = sentence`the model zoo's configs have it`;
  const isNarrow = precision?.value === 'fp8';
  const isOfFour = flagFact(flags.get(clusterOfFour), fixed(true)) !== undefined;
  return {
    sequenceLength: byDefault(4096, reason),
    context: byDefault(1, reason),
    expertTensor: byDefault(1, reason),
    gpusPerNode: byDefault(isOfFour ? 4 : 8, isOfFour ? sentence`GB200_CLUSTER has 4 a node` : reason),
    precision: byDefault('bf16', reason),
    sequenceParallel: byDefault(true, reason),
    distributedOptimizer: byDefault(true, reason),
    overlapGradReduce: byDefault(true, reason),
    overlapParamGather: byDefault(true, reason),
    fusedCrossEntropy: byDefault(true, reason),
    expertDispatcher: byDefault('deepep', reason),
    gradAccumulationFp32: byDefault(true, reason),
    mtpLayers: byDefault(0, reason),
    ...(isNarrow && {
      precisionAware: byDefault(true, reason),
      firstMomentBytes: byDefault(2, reason),
      secondMomentBytes: byDefault(2, reason),
      fp8ParamGather: byDefault(fp8Recipe !== undefined && offloadOptimizer === undefined, reason),
    }),
  };
}
