import { setBy, silentCheckpointing, wholeLayersOnly } from '../../domain/capabilities';
import { modelOfHub } from '../../huggingface/hub-models';
import { hasAny, type YamlHead } from '../../languages/yaml/head';
import { sentence } from '../../sentence';
import type { Launcher } from '../launcher';
import { fsdpTraits } from '../traits';

/** ByteDance's VeOmni: models of Transformers with FSDP2, Ulysses and expert parallelism. */
export const veomni: Launcher = {
  file: sentence`a VeOmni YAML`,
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isVeomni(yaml()),
  reader: async () => (await import('./veomni')).readVeomni,
  traits: fsdpTraits,
  capabilities: {
    name: 'VeOmni',
    source: 'ByteDance-Seed/VeOmni at d9774494, veomni/arguments/arguments_types.py 372 to 430, 481 to 562, 660 and 825 to 892',
    setBy: setBy(['context', 'expert', 'microBatch', 'recompute', 'zeroStage', 'offloadOptimizer']),
    refuses: [],
    recomputes: wholeLayersOnly,
    ownTraining: true,
    // weights and reductions in fp32; flash_attention_2, and a fused loss of Liger (arguments_types.py 1037 to 1051)
    silent: {
      ...silentCheckpointing(true),
      precision: 'bf16',
      microBatch: 1,
      gradAccumulationFp32: true,
      fusedCrossEntropy: true,
      attentionKernel: 'flash2',
      compile: false,
    },
  },
  modelNamed: (name) => modelOfHub(modelPath(name)),
};

function isVeomni({ sections }: YamlHead): boolean {
  const train = sections.get('train');
  return (
    hasAny(sections.get('model'), ['model_path', 'config_path']) && sections.has('data') && hasAny(train, ['accelerator', 'init_device'])
  );
}

/** Always a path, with merged experts too: `Qwen3-30B-A3B-merge`. */
function modelPath(written: string): string {
  const name = written.replace(/-merge$/, '').replace(/^(qwen\d)_(\d)/i, '$1.$2');
  return name.includes('/') ? name : `./${name}`;
}
