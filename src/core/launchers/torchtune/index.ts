import { setBy, wholeLayersOnly } from '../../domain/capabilities';
import { sentence } from '../../sentence';
import type { Launcher } from '../launcher';
import { megatronTraits } from '../traits';
import { modelOfTorchtune } from './builders';
import { hasAny, type YamlHead } from '../../languages/yaml/head';

/** PyTorch's torchtune: recipes of fine-tuning with FSDP2. */
export const torchtune: Launcher = {
  file: sentence`a torchtune YAML`,
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isTorchtune(yaml()),
  reader: async () => (await import('./torchtune')).readTorchtune,
  traits: { ...megatronTraits, runtime: 'fsdp1', padsVocabulary: false, repeatsKeyValueHeads: false, batchOfReplica: 'accumulated' },
  capabilities: {
    name: 'torchtune',
    source:
      'meta-pytorch/torchtune at bd2a0fc7, recipes/full_finetune_distributed.py 139 to 270, 623 and torchtune/training/_distributed.py 857',
    setBy: setBy(['tensor', 'context', 'microBatch', 'recompute', 'offloadOptimizer']),
    refuses: [],
    recomputes: wholeLayersOnly,
    ownTraining: true,
    // weights, gradients and moments are all of `dtype`; sdpa takes FlashAttention 2
    silent: {
      gradientAccumulation: 1,
      recomputeGranularity: 'none',
      compile: false,
      attentionKernel: 'flash2',
      masterWeightBytes: 0,
      gradAccumulationFp32: false,
      fusedCrossEntropy: false,
    },
  },
  modelNamed: modelOfTorchtune,
};

/** Whether a YAML is a training recipe of torchtune: objects by `_component_`, and a batch, which generation has not. */
function isTorchtune({ sections }: YamlHead): boolean {
  const names = new Set(sections.keys());
  const builds = ['model', 'policy_model', 'tokenizer', 'optimizer'].some((name) => sections.get(name)?.has('_component_') === true);
  return builds && hasAny(names, ['optimizer']) && hasAny(names, ['batch_size', 'micro_batch_size', 'ppo_batch_size']);
}
