import { modelOfHub } from '../../huggingface/hub-models';
import { hasAny, type YamlHead } from '../../languages/yaml/head';
import { sentence } from '../../sentence';
import { megatronCapabilities, type Launcher } from '../launcher';
import { megatronTraits } from '../traits';
import { setsAllExceptOrder } from '../../domain/capabilities';

/** Alibaba's ROLL: reinforcement learning, distillation and DPO, trained with Megatron Core, DeepSpeed or FSDP2. */
export const roll: Launcher = {
  file: sentence`a ROLL YAML`,
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isRoll(yaml()),
  reader: async () => (await import('./roll')).readRoll,
  traits: { ...megatronTraits, ignoresIdleRecompute: true, batchOfReplica: 'accumulated' },
  capabilities: {
    ...megatronCapabilities,
    setBy: setsAllExceptOrder,
    name: 'ROLL',
    source:
      'alibaba/ROLL at 8eb27cc2, mcore_adapter/src/mcore_adapter/training_args.py 28 to 73 and roll/configs/base_config.py 153 to 415',
  },
  modelNamed: modelOfHub,
};

function isRoll({ sections }: YamlHead): boolean {
  const [train] = ['actor_train', 'student_train', 'student'].flatMap((name) => sections.get(name) ?? []);
  return (
    hasAny(train, ['strategy_args', 'training_args']) && hasAny(new Set(sections.keys()), ['pretrain', 'student_pretrain', 'exp_name'])
  );
}
