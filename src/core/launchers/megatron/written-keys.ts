import { spelledWith, type KeyNames } from '../writing/key-names';

/** Flags of Megatron-LM (`megatron/training/arguments.py`, 0.9 to 0.15). A precision is a switch of its own name. */
export const megatronFlags = {
  layers: ['--num-layers'],
  emptyLayers: ['--noop-layers'],
  stageLayers: ['--num-layer-list'],
  tensor: ['--tensor-model-parallel-size'],
  pipeline: ['--pipeline-model-parallel-size'],
  context: ['--context-parallel-size'],
  contextCommunication: ['--cp-comm-type'],
  expert: ['--expert-model-parallel-size'],
  expertTensor: ['--expert-tensor-parallel-size'],
  virtualStages: ['--num-virtual-stages-per-pipeline-rank'],
  layersPerVirtualStage: ['--num-layers-per-virtual-pipeline-stage'],
  pipelineLayout: ['--pipeline-model-parallel-layout'],
  hybridPattern: ['--hybrid-layer-pattern', '--hybrid-override-pattern'],
  splitRank: ['--pipeline-model-parallel-split-rank'],
  firstStageLayers: ['--decoder-first-pipeline-num-layers'],
  lastStageLayers: ['--decoder-last-pipeline-num-layers'],
  embeddingAsLayer: ['--account-for-embedding-in-pipeline-split'],
  lossAsLayer: ['--account-for-loss-in-pipeline-split'],
  sequenceLength: ['--seq-length'],
  maxPositions: ['--max-position-embeddings'],
  microBatch: ['--micro-batch-size'],
  globalBatch: ['--global-batch-size'],
  distributedOptimizer: ['--use-distributed-optimizer'],
  zeroStage: ['--zero-stage'],
  sequenceParallel: ['--sequence-parallel'],
  recomputeGranularity: ['--recompute-granularity'],
  recomputeMethod: ['--recompute-method'],
  recomputeLayers: ['--recompute-num-layers'],
  recomputeModules: ['--recompute-modules'],
  activationOffloadLayers: ['--cpu-offloading-num-layers'],
  stagesBeforeReplicas: ['--use-tp-pp-dp-mapping'],
  overlapGradReduce: ['--overlap-grad-reduce'],
  overlapParamGather: ['--overlap-param-gather'],
} as const satisfies KeyNames;

/** Megatron-LM's flags as keys. */
export const argumentNames: KeyNames = spelledWith(megatronFlags, (flag) => flag.slice(2).replaceAll('-', '_'));

const coreKeys = {
  tensor: 'tensor_model_parallel_size',
  pipeline: 'pipeline_model_parallel_size',
  context: 'context_parallel_size',
  expert: 'expert_model_parallel_size',
  expertTensor: 'expert_tensor_parallel_size',
  virtualStages: 'virtual_pipeline_model_parallel_size',
  layersPerVirtualStage: 'num_layers_per_virtual_pipeline_stage',
  pipelineLayout: 'pipeline_model_parallel_layout',
  firstStageLayers: 'num_layers_in_first_pipeline_stage',
  lastStageLayers: 'num_layers_in_last_pipeline_stage',
  sequenceLength: 'seq_length',
  maxPositions: 'max_position_embeddings',
  microBatch: 'micro_batch_size',
  globalBatch: 'global_batch_size',
  distributedOptimizer: 'use_distributed_optimizer',
  sequenceParallel: 'sequence_parallel',
  recomputeGranularity: 'recompute_granularity',
  recomputeMethod: 'recompute_method',
  recomputeLayers: 'recompute_num_layers',
  recomputeModules: 'recompute_modules',
  cpuOffloading: 'cpu_offloading',
  activationOffloadLayers: 'cpu_offloading_num_layers',
  stagesBeforeReplicas: 'use_tp_pp_dp_mapping',
  overlapGradReduce: 'overlap_grad_reduce',
  overlapParamGather: 'overlap_param_gather',
} as const;

/** Keys of Megatron Core in each of several sections. */
export const coreKeysUnder = (...prefixes: readonly string[]): KeyNames =>
  Object.fromEntries(Object.entries(coreKeys).map(([fact, key]) => [fact, prefixes.map((prefix) => prefix + key)]));

/** Megatron-LM's `--yaml-cfg`. */
export const megatronConfigKeys: KeyNames = {
  ...coreKeysUnder('model_parallel.', 'language_model.', ''),
  ...Object.fromEntries(
    (['sequenceLength', 'maxPositions', 'microBatch', 'globalBatch', 'distributedOptimizer'] as const).map((fact) => [
      fact,
      ['', 'language_model.', 'model_parallel.'].map((prefix) => prefix + coreKeys[fact]),
    ]),
  ),
};
