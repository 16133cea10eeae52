import { megatronSettings } from '../megatron/plan-settings';
import { plainDialect } from '../megatron/stages-setting';
import { coreKeysUnder } from '../megatron/written-keys';
import type { Editor } from '../writing/editor';
import type { KeyNames } from '../writing/key-names';
import { yamlSyntax } from '../writing/yaml-syntax';

/** NeMo 1.x. */
export const nemoKeys: KeyNames = {
  ...coreKeysUnder('model.'),
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

/** NeMo 1.x. */
export const nemoEditor: Editor = {
  settings: (plan) =>
    megatronSettings(plan, { ...plainDialect, format: 'nemo', barsInPattern: false, countsVirtualStages: true, saysNodes: true }),
  syntax: yamlSyntax({
    keys: () => nemoKeys,
    spelled: {
      distributedOptimizer: (value) => (value === true ? 'mcore_distributed_optim' : 'fused_adam'),
      precision: (value) => (value === 'bf16' ? 'bf16' : value === 'fp16' ? 16 : 32),
    },
  }),
};
