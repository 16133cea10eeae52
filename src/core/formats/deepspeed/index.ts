import { megatronTraits, type Launcher } from '../launcher';
import { readDeepSpeed } from './reader';
import { isDeepSpeed } from './recognise';
import { sentence } from '../../sentence';

/** DeepSpeed's engine; the model and its layout are a training script's. */
export const deepspeed: Launcher = {
  file: sentence`a DeepSpeed JSON`,
  endings: ['json', 'jsonc'],
  isIts: ({ text, jsonKeys }) => isDeepSpeed(jsonKeys()) || isDeepSpeed(text),
  read: readDeepSpeed,
  traits: { ...megatronTraits, runtime: 'deepspeed', padsVocabulary: false, batchOfReplica: 'accumulated' },
};
