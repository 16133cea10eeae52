import { setBy, silentCheckpointing, wholeLayersOnly } from '../../domain/capabilities';
import { modelOfHub } from '../../huggingface/hub-models';
import { hasAny, type YamlHead } from '../../languages/yaml/head';
import { sentence } from '../../sentence';
import type { Launcher } from '../launcher';
import { fsdpTraits } from '../traits';

/** Stanford's levanter, on JAX: FSDP with tensor parallelism by named axes, on TPU or GPU. */
export const levanter: Launcher = {
  file: sentence`a levanter YAML`,
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isLevanter(yaml()),
  reader: async () => (await import('./levanter')).readLevanter,
  traits: { ...fsdpTraits, capsMicroBatch: true, accelerator: 'TPU (levanter)' },
  capabilities: {
    name: 'levanter',
    source: 'stanford-crfm/levanter at 9263f81e, src/levanter/trainer.py 609 to 695 and models/gpt2.py 37, llama.py 54, mistral.py 49',
    setBy: setBy(['tensor', 'microBatch', 'recompute']),
    refuses: [],
    recomputes: wholeLayersOnly,
    ownTraining: true,
    silent: { ...silentCheckpointing(true), precision: 'fp32', zeroStage: 3, globalBatch: 512, gradAccumulationFp32: true, compile: true },
  },
  modelNamed: modelOfHub,
};

function isLevanter({ sections }: YamlHead): boolean {
  const [trainer, model] = [sections.get('trainer'), sections.get('model')];
  const isOwn = hasAny(trainer, [
    'mp',
    'num_train_steps',
    'fsdp_axis',
    'tensor_parallel_axes',
    'model_axis_size',
    'per_device_parallelism',
  ]);
  return isOwn && (hasAny(model, ['type', 'hidden_dim']) || hasAny(new Set(sections.keys()), ['initialize_from_hf', 'model_name_or_path']));
}
