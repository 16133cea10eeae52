import { setBy, zero3WithAutoTensor, zero3WithExperts, zeroWithPipeline, wholeLayersOnly } from '../../domain/capabilities';
import type { Launcher } from '../launcher';
import { megatronTraits } from '../traits';
import { isDeepSpeed } from './recognise';
import { sentence } from '../../sentence';

/** DeepSpeed's engine; the model and its layout are a training script's. */
export const deepspeed: Launcher = {
  file: sentence`a DeepSpeed JSON`,
  endings: ['json', 'jsonc'],
  isIts: ({ text, jsonKeys }) => isDeepSpeed(jsonKeys()) || isDeepSpeed(text),
  reader: async () => (await import('./reader')).readDeepSpeed,
  editor: async () => (await import('./write')).deepspeedEditor,
  exported: { id: 'deepspeed', name: 'DeepSpeed', what: sentence`a JSON`, language: 'json' },
  traits: { ...megatronTraits, runtime: 'deepspeed', padsVocabulary: false, batchOfReplica: 'accumulated' },
  capabilities: {
    name: 'DeepSpeed',
    source: 'deepspeedai/DeepSpeed at edaa7221, deepspeed/runtime/config.py, zero/config.py 95 and pipe/engine.py 76',
    setBy: setBy(['microBatch', 'zeroStage', 'offloadOptimizer'], ['tensor', 'pipeline', 'context', 'expert', 'recompute']),
    refuses: [zeroWithPipeline, zero3WithAutoTensor, zero3WithExperts],
    recomputes: wholeLayersOnly,
    silent: { gradientAccumulation: 1 },
  },
};
