import { familiarModel } from '../../huggingface/hub-models';
import { composing } from '../composition';
import { megatronCapabilities, type Launcher } from '../launcher';
import { megatronTraits } from '../traits';
import { hasAny, type YamlHead } from '../../languages/yaml/head';
import { isNxdt } from '../nxdt';
import { parallelSizes } from '../megatron/core-keys';
import { sentence } from '../../sentence';

/** NeMo 1.x, as in NeMo-Framework-Launcher. */
export const nemo: Launcher = {
  file: sentence`a NeMo YAML`,
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isNemo(yaml()),
  reader: async () => composing((await import('./nemo')).nemoFiles),
  editor: async () => (await import('./write')).nemoEditor,
  traits: { ...megatronTraits, ignoresIdleRecompute: true },
  capabilities: { ...megatronCapabilities, name: 'NeMo', source: 'NVIDIA-NeMo/NeMo at 8cfedd72, nemo/collections/nlp, with Megatron Core' },
  modelNamed: (name) => ({ name, home: 'preset', config: familiarModel(name) }),
};

/**
 * NeMo 1.x: a Lightning trainer, and a model with Megatron's parallel sizes, or the batches of a run that takes them from a checkpoint
 * (NeMo-Aligner). Its speech and vision configs have neither.
 */
function isNemo({ sections }: YamlHead): boolean {
  if (!sections.has('trainer') || isNxdt({ sections })) return false;
  const model = sections.get('model');
  const isAligned = model?.has('micro_batch_size') === true && model.has('global_batch_size') && model.has('mcore_gpt');
  return isAligned || hasAny(model, [...parallelSizes, 'encoder_seq_length']);
}
