import { modelOfHub } from '../../huggingface/hub-models';
import { setsAllExceptOrder } from '../../domain/capabilities';
import { hasAny, type YamlHead } from '../../languages/yaml/head';
import { sentence } from '../../sentence';
import { megatronCapabilities, type Launcher } from '../launcher';
import { megatronTraits } from '../traits';

/** Alibaba's ChatLearn: reinforcement learning, trained with Megatron Core or FSDP2. */
export const chatlearn: Launcher = {
  file: sentence`a ChatLearn YAML`,
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isChatlearn(yaml()),
  reader: async () => (await import('./chatlearn')).readChatlearn,
  traits: { ...megatronTraits, ignoresIdleRecompute: true },
  capabilities: {
    ...megatronCapabilities,
    setBy: setsAllExceptOrder,
    name: 'ChatLearn',
    source: 'alibaba/ChatLearn at b7af31a9, template/grpo_megatron.yaml and template/grpo_fsdp.yaml',
  },
  modelNamed: modelOfHub,
};

function isChatlearn({ sections }: YamlHead): boolean {
  return hasAny(sections.get('runtime_args'), ['train_backend', 'rollout_backend', 'num_episode']) && hasAny(sections.get('models'), ['policy_trainer']); // prettier-ignore
}
