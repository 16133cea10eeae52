import { megatronTraits, type Launcher } from '../launcher';
import { flavorConfig } from './flavors';
import { readTorchTitan } from './reader';
import { isTorchTitan } from './recognise';

/** PyTorch's own trainer, with FSDP2 and `torch.distributed.pipelining`. */
export const torchtitan: Launcher = {
  file: 'a TorchTitan TOML',
  endings: ['toml'],
  isIts: ({ text }) => isTorchTitan(text),
  read: readTorchTitan,
  traits: {
    ...megatronTraits,
    runtime: 'torchtitan',
    repeatsKeyValueHeads: false,
    alwaysDividesSequence: true,
    countsEndsAsLayers: true,
    padsVocabulary: false,
    batchOfReplica: 'local',
  },
  modelNamed: (flavor, { modelType }) => ({
    name: modelType === undefined ? flavor : `${modelType.value} ${flavor}`,
    launcher: 'TorchTitan',
    config: flavorConfig(modelType?.value ?? '', flavor),
  }),
};
