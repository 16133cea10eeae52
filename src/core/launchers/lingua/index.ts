import { setBy, silentCheckpointing, wholeLayersOnly } from '../../domain/capabilities';
import { hasAny, type YamlHead } from '../../languages/yaml/head';
import { sentence } from '../../sentence';
import type { Launcher } from '../launcher';
import { fsdpTraits } from '../traits';

/** Meta's lingua, and blt, which is built on it: pretraining with FSDP. */
export const lingua: Launcher = {
  file: sentence`a lingua YAML`,
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isLingua(yaml()),
  reader: async () => (await import('./lingua')).readLingua,
  // `tp_parallelize=None` in apps/mamba/train.py and apps/fastRNN/train.py, which `parallelize_model` stops on
  traits: { ...fsdpTraits, keepsStatesWhole: true },
  capabilities: {
    name: 'lingua',
    source: 'facebookresearch/lingua at 437d680, lingua/distributed.py 58 to 67, 409 and 437, lingua/transformer.py 431',
    setBy: setBy(['tensor', 'microBatch', 'zeroStage']),
    refuses: [],
    recomputes: wholeLayersOnly,
    ownTraining: true,
    // weights in fp32, computed in bf16, reduced in fp32
    silent: {
      ...silentCheckpointing(false),
      precision: 'bf16',
      zeroStage: 0,
      gradientAccumulation: 1,
      microBatch: 2,
      sequenceLength: 2048,
      gradAccumulationFp32: true,
      fusedCrossEntropy: false,
      compile: false,
    },
  },
};

function isLingua({ sections }: YamlHead): boolean {
  return (
    hasAny(sections.get('distributed'), ['fsdp_type', 'dp_shard', 'selective_activation_checkpointing']) &&
    sections.has('model') &&
    hasAny(sections.get('data'), ['root_dir', 'sources', 'n_views'])
  );
}
