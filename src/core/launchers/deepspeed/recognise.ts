import { topLevelKeys } from '../../languages/json/document';

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
export function isDeepSpeed(from: string | ReadonlySet<string>): boolean {
  const quick = typeof from !== 'string' || own.some((key) => from.includes(key)) || from.includes('train_batch_size');
  if (!quick) return false;
  const keys = typeof from === 'string' ? topLevelKeys(from) : from;
  if (others.some((key) => keys.has(key))) return false;
  if (own.some((key) => keys.has(key))) return true;
  if (!keys.has('train_batch_size')) return false;
  return companionKeys.some((key) => keys.has(key)) || (typeof from === 'string' && /"(fp16|bf16)"\s*:\s*\{/.test(from));
}
