import { composing } from '../composition';
import { setBy } from '../../domain/capabilities';
import type { Launcher } from '../launcher';
import { megatronTraits } from '../traits';
import { flavorConfig, flavorDetails } from './flavors';
import { sentence } from '../../sentence';

/** What its files have in common, in TOML and in Python. */
const shared: Pick<Launcher, 'traits' | 'capabilities' | 'modelNamed'> = {
  traits: {
    ...megatronTraits,
    runtime: 'torchtitan',
    repeatsKeyValueHeads: false,
    alwaysDividesSequence: true,
    countsEndsAsLayers: true,
    padsVocabulary: false,
    batchOfReplica: 'local',
  },
  capabilities: {
    name: 'TorchTitan',
    source: 'pytorch/torchtitan at b5bcd76c, torchtitan/config/configs.py 37 to 282, distributed/parallel_dims.py 182 and trainer.py 108',
    setBy: setBy([
      'tensor',
      'pipeline',
      'context',
      'expert',
      'expertTensor',
      'virtualStages',
      'microBatch',
      'recompute',
      'dataReplicate',
      'offloadOptimizer',
    ]),
    refuses: [
      {
        code: 'tied-with-pp',
        atLeast: { pipeline: 2 },
        model: 'tiedEmbeddings',
        why: sentence`TorchTitan puts the embedding on the first stage and the output layer on the last`,
        source: 'pytorch/torchtitan at b5bcd76c, torchtitan/models/common/decoder.py 168',
      },
    ],
    recomputes: ['none', 'op', 'full'],
    silent: { sequenceLength: 2048 },
  },
  modelNamed: (flavor, { modelType }) => ({
    name: modelType === undefined ? flavor : `${modelType.value} ${flavor}`,
    home: { launcher: 'TorchTitan' },
    config: flavorConfig(modelType?.value ?? '', flavor),
    details: flavorDetails(modelType?.value ?? '', flavor),
  }),
};

/** PyTorch's own trainer, with FSDP2 and `torch.distributed.pipelining`. */
export const torchtitan: Launcher = {
  file: sentence`a TorchTitan TOML`,
  endings: ['toml'],
  isIts: ({ text }) => isTorchTitan(text),
  reader: async () => (await import('./reader')).readTorchTitan,
  editor: async () => (await import('./write')).titanEditor,
  exported: { id: 'torchtitan', name: 'TorchTitan', what: sentence`a TOML`, language: 'toml' },
  ...shared,
};

/** Its configs in Python, which replaced TOML in 2026. */
export const torchtitanPython: Launcher = {
  ...shared,
  file: sentence`a config_registry.py of TorchTitan`,
  endings: [],
  namedEndings: ['py'],
  paths: /(^|[/\\])config_registry\.py$/,
  isIts: ({ text }) => text.includes('torchtitan') && /^def [a-z]\w*\([^)]{0,400}\)\s*->\s*"?(?:\w+\.)*Trainer\.Config\b/m.test(text),
  reader: async () => composing((await import('./config-registry')).registryFiles),
};

const line = /^[ \t]*(?:\[[ \t]*([\w.-]+)[ \t]*\]|([\w.-]+)[ \t]*=)/gm;

/** Keys that no other tool has, under the sections that TorchTitan has had them in. */
const own =
  /^(parallelism|training|experimental)\.((data|tensor|pipeline|context|expert)(_tensor)?_parallel(_replicate|_shard)?_degree|pipeline_parallel_\w+)$/;

/**
 * Whether a TOML text is TorchTitan's: a parallel degree where TorchTitan has it, or a model's flavour with a sequence length. Two passes
 * at most, no parse: works on broken files too.
 */
function isTorchTitan(text: string): boolean {
  if (!text.includes('_parallel_') && !text.includes('flavor')) return false;
  let section = '';
  const pair = new Set<string>();
  for (const [, header, key] of text.matchAll(line)) {
    if (header !== undefined) section = `${header}.`;
    if (key === undefined) continue;
    const name = section + key;
    if (own.test(name)) return true;
    if (name === 'model.flavor' || name === 'training.seq_len') pair.add(name);
    if (pair.size === 2) return true;
  }
  return false;
}
