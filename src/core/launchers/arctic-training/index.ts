import { setBy, silentCheckpointing, wholeLayersOnly } from '../../domain/capabilities';
import { modelOfHub } from '../../huggingface/hub-models';
import { hasAny, type YamlHead } from '../../languages/yaml/head';
import { sentence } from '../../sentence';
import type { Launcher } from '../launcher';
import { megatronTraits } from '../traits';

/** Snowflake's ArcticTraining: models of Transformers under DeepSpeed, with Ulysses for long sequences. */
export const arcticTraining: Launcher = {
  file: sentence`an ArcticTraining YAML`,
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isArcticTraining(yaml()),
  reader: async () => (await import('./arctic-training')).readArcticTraining,
  traits: { ...megatronTraits, runtime: 'deepspeed', padsVocabulary: false, batchOfReplica: 'accumulated' },
  capabilities: {
    name: 'ArcticTraining',
    source: 'snowflakedb/ArcticTraining at b28638e, arctic_training/config/trainer.py 100 to 130 and 397 to 440, config/model.py 40 to 52',
    setBy: setBy(['context', 'expert', 'microBatch', 'recompute', 'zeroStage', 'offloadOptimizer']),
    refuses: [],
    recomputes: wholeLayersOnly,
    silent: {
      ...silentCheckpointing(true),
      precision: 'bf16',
      microBatch: 1,
      gradientAccumulation: 1,
      zeroStage: 2,
      fusedCrossEntropy: false,
      attentionKernel: 'flash2',
    },
  },
  modelNamed: modelOfHub,
};

function isArcticTraining({ sections }: YamlHead): boolean {
  const names = new Set(sections.keys());
  return (
    names.has('type') &&
    hasAny(sections.get('model'), ['name_or_path']) &&
    hasAny(sections.get('data'), ['sources']) &&
    hasAny(names, ['deepspeed', 'micro_batch_size', 'checkpoint'])
  );
}
