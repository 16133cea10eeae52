import type { Launcher } from '../launcher';
import { neoxCapabilities } from './capabilities';
import { megatronTraits } from '../traits';
import { hasAny, type YamlHead } from '../../languages/yaml/head';
import { sentence } from '../../sentence';

/** GPT-NeoX, which runs on DeepSpeed's engine. */
export const gptNeox: Launcher = {
  file: sentence`a GPT-NeoX YAML`,
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isGptNeox(yaml()),
  reader: async () => (await import('./gpt-neox')).readGptNeox,
  editor: async () => (await import('./write')).neoxEditor,
  traits: { ...megatronTraits, runtime: 'deepspeed', batchOfReplica: 'accumulated' },
  capabilities: neoxCapabilities,
};

const neoxOnly = ['pipe_parallel_size', 'gpt_j_residual', 'no_weight_tying', 'output_layer_parallelism', 'pos_emb', 'rotary_pct'];
const neoxToo = [
  'model_parallel_size',
  'num_layers',
  'hidden_size',
  'num_attention_heads',
  'seq_length',
  'train_micro_batch_size_per_gpu',
  'train_batch_size',
  'zero_optimization',
  'pipe_partition_method',
];

/** GPT-NeoX, in either spelling: two of its keys, at least one that no other launcher has. */
function isGptNeox({ sections }: YamlHead): boolean {
  const names = new Set([...sections.keys()].map((name) => name.replaceAll('-', '_')));
  return hasAny(names, neoxOnly) && [...neoxOnly, ...neoxToo].filter((name) => names.has(name)).length >= 3;
}
