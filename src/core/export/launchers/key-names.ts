import type { FactName } from '../../formats/facts';

/** Where each setting stands in a file that has it not yet: flags, or dotted keys, the first of which is written. */
export type KeyNames = Readonly<Partial<Record<FactName, readonly string[]>>>;

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

const under = (...prefixes: readonly string[]): KeyNames =>
  Object.fromEntries(Object.entries(coreKeys).map(([fact, key]) => [fact, prefixes.map((prefix) => prefix + key)]));

/** Megatron-LM's `--yaml-cfg`. */
export const megatronConfigKeys: KeyNames = {
  ...under('model_parallel.', 'language_model.', ''),
  ...Object.fromEntries(
    (['sequenceLength', 'maxPositions', 'microBatch', 'globalBatch', 'distributedOptimizer'] as const).map((fact) => [
      fact,
      ['', 'language_model.', 'model_parallel.'].map((prefix) => prefix + coreKeys[fact]),
    ]),
  ),
};

/** NeMo 1.x. */
export const nemoKeys: KeyNames = {
  ...under('model.'),
  sequenceLength: ['model.encoder_seq_length', 'model.seq_length', 'model.data.seq_length'],
  distributedOptimizer: ['model.optim.name'],
  overlapGradReduce: ['model.optim.overlap_grad_sync'],
  overlapParamGather: ['model.optim.overlap_param_sync'],
  precision: ['trainer.precision', 'model.precision'],
  recomputeGranularity: ['model.activations_checkpoint_granularity', 'model.recompute_granularity'],
  recomputeMethod: ['model.activations_checkpoint_method', 'model.recompute_method'],
  recomputeLayers: ['model.activations_checkpoint_num_layers', 'model.recompute_num_layers'],
  nodes: ['trainer.num_nodes'],
  gpusPerNode: ['trainer.devices'],
};

/** Overrides of a Megatron-Bridge recipe (`ConfigContainer`). */
export const bridgeKeys: KeyNames = {
  ...under('model.'),
  sequenceLength: ['model.seq_length', 'dataset.seq_length', 'dataset.sequence_length'],
  microBatch: ['train.micro_batch_size'],
  globalBatch: ['train.global_batch_size'],
  distributedOptimizer: ['ddp.use_distributed_optimizer', 'optimizer.use_distributed_optimizer'],
  zeroStage: ['ddp.data_parallel_sharding_strategy'],
  stagesBeforeReplicas: ['dist.use_tp_pp_dp_mapping'],
  overlapGradReduce: ['ddp.overlap_grad_reduce'],
  overlapParamGather: ['ddp.overlap_param_gather'],
  precision: ['mixed_precision'],
};

/** GPT-NeoX, whose keys take dashes too. */
export const neoxKeys = {
  tensor: ['model_parallel_size'],
  pipeline: ['pipe_parallel_size'],
  expert: ['moe_expert_parallel_size'],
  sequenceParallel: ['sequence_parallel'],
  sequenceLength: ['seq_length'],
  maxPositions: ['max_position_embeddings'],
  microBatch: ['train_micro_batch_size_per_gpu'],
  globalBatch: ['train_batch_size'],
  gradientAccumulation: ['gradient_accumulation_steps'],
  zeroStage: ['zero_optimization.stage'],
  recomputeGranularity: ['checkpoint_activations'],
  recomputeLayers: ['checkpoint_num_layers'],
  offloadOptimizer: ['zero_optimization.offload_optimizer.device'],
  nodes: ['num_nodes'],
  gpusPerNode: ['num_gpus'],
} as const satisfies KeyNames;

/** nanotron, `Config` of src/nanotron/config/config.py. */
export const nanotronKeys = {
  tensor: ['parallelism.tp'],
  pipeline: ['parallelism.pp'],
  data: ['parallelism.dp'],
  context: ['parallelism.context_parallel_size'],
  expert: ['parallelism.expert_parallel_size'],
  schedule: ['parallelism.pp_engine'],
  sequenceParallel: ['parallelism.tp_mode'],
  recomputeGranularity: ['parallelism.recompute_layer'],
  sequenceLength: ['tokens.sequence_length'],
  microBatch: ['tokens.micro_batch_size'],
  gradientAccumulation: ['tokens.batch_accumulation_per_replica'],
  zeroStage: ['optimizer.zero_stage'],
} as const satisfies KeyNames;

/** TorchTitan, `JobConfig` of 2025-07. Keys of `parallelism` go where the file has the others. */
export const titanKeys: KeyNames = {
  tensor: ['parallelism.tensor_parallel_degree'],
  pipeline: ['parallelism.pipeline_parallel_degree'],
  context: ['parallelism.context_parallel_degree'],
  expert: ['parallelism.expert_parallel_degree'],
  expertTensor: ['parallelism.expert_tensor_parallel_degree'],
  dataReplicate: ['parallelism.data_parallel_replicate_degree'],
  dataShard: ['parallelism.data_parallel_shard_degree'],
  schedule: ['parallelism.pipeline_parallel_schedule'],
  scheduleCsv: ['parallelism.pipeline_parallel_schedule_csv'],
  microBatch: ['parallelism.pipeline_parallel_microbatch_size'],
  microBatches: ['parallelism.pipeline_parallel_microbatches'],
  layersPerStage: ['parallelism.pipeline_parallel_layers_per_stage'],
  firstStageLessLayers: ['parallelism.pipeline_parallel_first_stage_less_layers'],
  lastStageLessLayers: ['parallelism.pipeline_parallel_last_stage_less_layers'],
  totalStages: ['parallelism.module_fqns_per_model_part', 'parallelism.pipeline_parallel_split_points'],
  sequenceParallel: ['parallelism.enable_sequence_parallel'],
  sequenceLength: ['training.seq_len'],
  localBatch: ['training.local_batch_size'],
  globalBatch: ['training.global_batch_size'],
  precision: ['training.mixed_precision_param'],
  recomputeGranularity: ['activation_checkpoint.mode'],
  recomputeOption: ['activation_checkpoint.selective_ac_option'],
};

/** DeepSpeed. A precision has an object of its own. */
export const deepspeedKeys: KeyNames = {
  globalBatch: ['train_batch_size'],
  microBatch: ['train_micro_batch_size_per_gpu'],
  gradientAccumulation: ['gradient_accumulation_steps'],
  zeroStage: ['zero_optimization.stage'],
  tensor: ['tensor_parallel.autotp_size'],
  pipeline: ['pipeline.stages'],
  recomputeGranularity: ['pipeline.activation_checkpoint_interval'],
};
