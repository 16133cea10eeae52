import { setBy, silentCheckpointing, wholeLayersOnly } from '../../domain/capabilities';
import { modelOfHub } from '../../huggingface/hub-models';
import { sentence } from '../../sentence';
import type { Launcher } from '../launcher';
import { megatronTraits } from '../traits';

/** Hugging Face's picotron, which splits a Llama in four dimensions. */
export const picotron: Launcher = {
  file: sentence`a picotron JSON`,
  endings: ['json'],
  isIts: ({ text, jsonKeys }) =>
    text.includes('"distributed"') && text.includes('"pp_engine"') && sections.every((name) => jsonKeys().has(name)),
  reader: async () => (await import('./picotron')).readPicotron,
  traits: {
    ...megatronTraits,
    runtime: 'ddp',
    padsVocabulary: false,
    repeatsKeyValueHeads: false,
    refusesUnevenLayers: false,
    batchOfReplica: 'accumulated',
  },
  capabilities: {
    name: 'picotron',
    source: 'huggingface/picotron at 59714b1b, train.py 60 to 220, picotron/model.py and picotron/process_group_manager.py 5 to 20',
    setBy: setBy(['tensor', 'pipeline', 'context', 'microBatch']),
    refuses: [],
    recomputes: wholeLayersOnly,
    hasFixedStageLayers: true,
    ownTraining: true,
    // model.to(bfloat16) before AdamW: weights and moments in bf16, no master weights; buckets of gradients are fp32
    silent: {
      ...silentCheckpointing(false),
      precision: 'bf16',
      zeroStage: 0,
      masterWeightBytes: 0,
      firstMomentBytes: 2,
      secondMomentBytes: 2,
      gradAccumulationFp32: true,
      gradientAccumulation: 1,
      fusedCrossEntropy: false,
      compile: false,
      sequenceParallel: false,
    },
  },
  modelNamed: modelOfHub,
};

const sections = ['distributed', 'model', 'training'];
