import * as v from 'valibot';
import { row, rows, type ValueTable } from '../tables/table';
import { value, whenOn } from '../tables/values';
import { boolean, integer, type Rule } from '../../domain/settings/rules';
import { sentence } from '../../sentence';

const word: Rule<string> = { schema: v.pipe(v.string(), v.maxLength(4096)), type: 'string', expects: sentence`a name in quotes` };
const anything: Rule<unknown> = { schema: v.unknown(), type: 'string', expects: sentence`anything` };
const degree = integer(1, 1_000_000);
/** DeepSpeed's `ge=0`, without an upper limit. */
const natural: Rule<number> = {
  schema: v.pipe(v.number(), v.integer(), v.minValue(0)),
  type: 'number',
  expects: sentence`a whole number, 0 or more`,
};

const device = (name: string): string | null => (name === 'none' ? null : name);
/** The form before stages existed: true was what stage 1 is now. */
const oldZero = (value: unknown): number | null => (typeof value === 'boolean' ? Number(value) : null);

/** As DeepSpeed names it (`DtypeEnum`). */
export const isFp32 = (name: string): boolean => /^(fp32|float32|torch\.float32)$/.test(name);

/** Names under which DeepSpeed turns a half precision on, and what it computes in then. */
export const precisionSwitches = ['fp16.enabled', 'bf16.enabled', 'bfloat16.enabled'] as const;

/** What a DeepSpeed config sets for a run. Source: deepspeed/runtime/config.py, zero/config.py and pipe, and their deprecated forms. */
export const deepspeedKeys: ValueTable = {
  globalBatch: [row('train_batch_size', value(integer(1, 100_000_000)))],
  microBatch: [row('train_micro_batch_size_per_gpu', value(degree))],
  gradientAccumulation: [row('gradient_accumulation_steps', value(degree))],
  zeroStage: [row('zero_optimization.stage', value(integer(0, 3))), row('zero_optimization', value(anything, oldZero))],
  overlapGradReduce: [row('zero_optimization.overlap_comm', value(boolean))],
  offloadOptimizer: [
    row('zero_optimization.offload_optimizer.device', value(word, device)),
    row('zero_optimization.cpu_offload', value(boolean, whenOn('cpu'))),
  ],
  offloadBuffers: [
    row(
      'zero_optimization.offload_optimizer.buffer_count',
      value(natural, (buffers) => (buffers > 0 ? Math.min(buffers, 1024) : null)),
    ),
  ],
  optimizerSubGroup: [
    row(
      'zero_optimization.sub_group_size',
      value(natural, (elements) => Math.min(Math.max(1, elements), 1e12)),
    ),
  ],
  offloadParameters: [
    row('zero_optimization.offload_param.device', value(word, device)),
    row('zero_optimization.cpu_offload_params', value(boolean, whenOn('cpu'))),
  ],
  loadCheckpoint: [row('checkpoint.load_universal', value(boolean, whenOn(true)))],
  checkpointFormat: [row('checkpoint.load_universal', value(boolean, whenOn('universal')))],
  precision: [
    row(precisionSwitches[0], value(boolean, whenOn('fp16'))),
    ...rows(value(boolean, whenOn('bf16')), precisionSwitches[1], precisionSwitches[2]),
  ],
  gradAccumulationFp32: [row('data_types.grad_accum_dtype', value(word, isFp32))],
  optimizer: [row('optimizer.type', value(word))],
  masterWeightBytes: [row('bf16.bf16_master_weights_and_grads', value(boolean, whenOn(2)))],
  firstMomentBytes: [row('bf16.bf16_optimizer_states', value(boolean, whenOn(2)))],
  secondMomentBytes: [row('bf16.bf16_optimizer_states', value(boolean, whenOn(2)))],
  activationCheckpointing: [
    row(
      'activation_checkpointing',
      value(anything, (value) => typeof value !== 'boolean' || value),
    ),
  ],
  recomputeGranularity: [
    row(
      'pipeline.activation_checkpoint_interval',
      value(integer(0, 10_000), (every) => (every > 0 ? 'full' : null)),
    ),
  ],
  recomputeLayers: [
    row(
      'pipeline.activation_checkpoint_interval',
      value(integer(0, 10_000), (every) => (every > 1 ? every : null)),
    ),
  ],
  cpuCheckpointing: [row('activation_checkpointing.cpu_checkpointing', value(boolean))],
  pipeline: [row('pipeline.stages', value(degree))],
  partitionMethod: rows(value(word), 'pipeline.partition', 'pipeline.partition_method'),
  tensor: rows(value(degree), 'tensor_parallel.autotp_size', 'tensor_parallel.tp_size'),
};
