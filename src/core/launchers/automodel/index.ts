import { modelOfHub } from '../../huggingface/hub-models';
import { sentence } from '../../sentence';
import type { Launcher } from '../launcher';
import { megatronTraits } from '../traits';
import { automodelCapabilities } from './programs';
import { hasAny, type YamlHead } from '../../languages/yaml/head';

/** NVIDIA's NeMo AutoModel: fine-tuning of models of Hugging Face with PyTorch's FSDP2, Megatron-FSDP or DDP. */
export const automodel: Launcher = {
  file: sentence`a NeMo AutoModel YAML`,
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isAutomodel(yaml()),
  reader: async () => (await import('./automodel')).readAutomodel,
  traits: { ...megatronTraits, runtime: 'fsdp1', padsVocabulary: false, repeatsKeyValueHeads: false, refusesUnevenLayers: false },
  capabilities: automodelCapabilities,
  modelNamed: modelOfHub,
};

/** Whether a YAML is a recipe of NeMo AutoModel: its `step_scheduler`, or the arguments of a named recipe. */
function isAutomodel({ sections }: YamlHead): boolean {
  const [batch, own] = [sections.get('step_scheduler'), sections.get('recipe_args')];
  if (hasAny(batch, ['global_batch_size', 'local_batch_size'])) return sections.has('model');
  return sections.has('recipe') && hasAny(own, ['micro_batch_size']) && hasAny(own, ['target_model_name_or_path']);
}
