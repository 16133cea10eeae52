import { megatronTraits, type Launcher } from '../launcher';
import { isDeepSpeed } from './recognise';
import { sentence } from '../../sentence';

/** DeepSpeed's engine; the model and its layout are a training script's. */
export const deepspeed: Launcher = {
  file: sentence`a DeepSpeed JSON`,
  endings: ['json', 'jsonc'],
  isIts: ({ text, jsonKeys }) => isDeepSpeed(jsonKeys()) || isDeepSpeed(text),
  reader: async () => (await import('./reader')).readDeepSpeed,
  traits: { ...megatronTraits, runtime: 'deepspeed', padsVocabulary: false, batchOfReplica: 'accumulated' },
};
