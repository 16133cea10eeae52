import { modelOfHub } from '../../huggingface/hub-models';
import { sentence } from '../../sentence';
import type { Launcher } from '../launcher';
import { megatronTraits } from '../traits';
import { automodelCapabilities } from './programs';
import { isAutomodel } from './recognise';

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
