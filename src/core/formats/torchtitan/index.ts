import { megatronTraits, type Launcher } from '../launcher';
import { registryFiles } from './config-registry';
import { flavorConfig } from './flavors';
import { readTorchTitan } from './reader';
import { isTorchTitan } from './recognise';
import { sentence } from '../../sentence';

/** PyTorch's own trainer, with FSDP2 and `torch.distributed.pipelining`. */
export const torchtitan: Launcher = {
  file: sentence`a TorchTitan TOML`,
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
    home: { launcher: 'TorchTitan' },
    config: flavorConfig(modelType?.value ?? '', flavor),
  }),
};

/** Its configs in Python, which replaced TOML in 2026. */
export const torchtitanPython: Launcher = {
  ...torchtitan,
  file: sentence`a config_registry.py of TorchTitan`,
  endings: [],
  namedEndings: ['py'],
  paths: /(^|[/\\])config_registry\.py$/,
  isIts: ({ text }) => text.includes('torchtitan') && /^def [a-z]\w*\([^)]{0,400}\)\s*->\s*"?(?:\w+\.)*Trainer\.Config\b/m.test(text),
  read: (file, text) => registryFiles.read([{ file, text }]),
  composition: registryFiles,
};
