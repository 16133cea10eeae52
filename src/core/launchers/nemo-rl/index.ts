import { setBy } from '../../domain/capabilities';
import { searchKeys } from '../../domain/layout-choices';
import { composing } from '../composition';
import { modelOfHub } from '../../huggingface/hub-models';
import { megatronCapabilities, type Glance, type Launcher } from '../launcher';
import { megatronTraits } from '../traits';
import { hasAny } from '../../languages/yaml/head';
import { sentence } from '../../sentence';

/** NeMo-RL: GRPO, DPO, SFT, distillation and others, with Megatron Core or PyTorch's DTensor. */
export const nemoRl: Launcher = {
  file: sentence`a NeMo-RL YAML`,
  endings: ['yaml', 'yml'],
  isIts: isNemoRl,
  reader: async () => composing((await import('./nemo-rl')).nemoRlFiles),
  editor: async () => (await import('./write')).nemoRlEditor,
  traits: { ...megatronTraits, ignoresIdleRecompute: true },
  capabilities: {
    ...megatronCapabilities,
    setBy: setBy(searchKeys.filter((key) => key !== 'order' && key !== 'virtualStages')),
    recomputes: ['none', 'core', 'modules', 'full'],
    name: 'NeMo-RL',
    source: 'NVIDIA-NeMo/RL at 7ea279ab, nemo_rl/models/megatron/setup.py 866 to 1089 and policy/workers/megatron_policy_worker.py 640',
  },
  modelNamed: modelOfHub,
};

const algorithms = ['grpo', 'ppo', 'dpo', 'sft', 'rm', 'distillation'];
const policyKeys = [
  'model_name',
  'train_global_batch_size',
  'train_micro_batch_size',
  'max_total_sequence_length',
  'megatron_cfg',
  'dtensor_cfg',
];

/** Of a recipe that changes another one little may be left: it names that file, and some section that only such runs have. */
function isNemoRl({ text, yaml }: Glance): boolean {
  const { sections } = yaml();
  const names = new Set(sections.keys());
  const isOver = /^defaults:[ \t]*["']?[^\s"'#]+\.ya?ml/m.test(text.slice(0, 100_000));
  if (isOver && hasAny(names, [...algorithms, 'policy', 'value'])) return true;
  return hasAny(sections.get('policy'), policyKeys) && (sections.has('defaults') || hasAny(names, algorithms));
}
