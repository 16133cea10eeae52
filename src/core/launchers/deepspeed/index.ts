import { setBy, zero3WithAutoTensor, zero3WithExperts, zeroWithPipeline, wholeLayersOnly } from '../../domain/capabilities';
import type { Launcher } from '../launcher';
import { megatronTraits } from '../traits';
import { topLevelKeys } from '../../languages/json/document';
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

/** Keys that only DeepSpeed has. */
const own = ['train_micro_batch_size_per_gpu', 'zero_optimization', 'zero_allow_untested_optimizer', 'zero_force_ds_cpu_optimizer'];
/** Keys that make a `train_batch_size` DeepSpeed's. */
const companionKeys = [
  'steps_per_print',
  'wall_clock_breakdown',
  'prescale_gradients',
  'activation_checkpointing',
  'flops_profiler',
  'comms_logger',
];
/** GPT-NeoX takes DeepSpeed's keys at the top level of its own files, which may be written in JSON. */
const others = ['pipe-parallel-size', 'pipe_parallel_size', 'model-parallel-size', 'model_parallel_size', 'num-layers', 'num_layers'];

/**
 * Whether a JSON text (or an object with these keys) is a DeepSpeed config or a template of one. One scan, no parse: works on broken files
 * too.
 */
function isDeepSpeed(from: string | ReadonlySet<string>): boolean {
  const quick = typeof from !== 'string' || own.some((key) => from.includes(key)) || from.includes('train_batch_size');
  if (!quick) return false;
  const keys = typeof from === 'string' ? topLevelKeys(from) : from;
  if (others.some((key) => keys.has(key))) return false;
  if (own.some((key) => keys.has(key))) return true;
  if (!keys.has('train_batch_size')) return false;
  return companionKeys.some((key) => keys.has(key)) || (typeof from === 'string' && /"(fp16|bf16)"\s*:\s*\{/.test(from));
}
