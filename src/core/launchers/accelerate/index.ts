import { composing } from '../composition';
import type { Launcher } from '../launcher';
import { megatronTraits } from '../traits';
import { accelerateCapabilities } from './programs';
import { isAccelerate } from './recognise';
import { sentence } from '../../sentence';

/** Accelerate's YAML: processes, precision and sharding of a run whose model and batch a training script decides. */
export const accelerate: Launcher = {
  file: sentence`an Accelerate YAML`,
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isAccelerate(yaml()),
  reader: async () => composing((await import('./accelerate')).accelerateFiles),
  traits: { ...megatronTraits, runtime: 'deepspeed', padsVocabulary: false, batchOfReplica: 'accumulated' },
  capabilities: accelerateCapabilities,
};
