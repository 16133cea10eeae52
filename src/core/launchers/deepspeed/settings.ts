import * as v from 'valibot';
import { entry, entryAs, type Entry } from '../tables/fact-table';
import { boolean, integer, type Rule } from '../../domain/settings/rules';
import { sentence } from '../../sentence';

const word: Rule<string> = { schema: v.pipe(v.string(), v.maxLength(4096)), type: 'string', expects: sentence`a name in quotes` };
const anything: Rule<unknown> = { schema: v.unknown(), type: 'string', expects: sentence`anything` };
const degree = integer(1, 1_000_000);

const whenOn =
  <T>(value: T) =>
  (on: boolean): T | null =>
    on ? value : null;
const device = (name: string): string | null => (name === 'none' ? null : name);
/** The form before stages existed: true was what stage 1 is now. */
const oldZero = (value: unknown): number | null => (typeof value === 'boolean' ? Number(value) : null);

/** As DeepSpeed names it (`DtypeEnum`). */
export const isFp32 = (name: string): boolean => /^(fp32|float32|torch\.float32)$/.test(name);

/** Names under which DeepSpeed turns a half precision on, and what it computes in then. */
export const precisionSwitches = ['fp16.enabled', 'bf16.enabled', 'bfloat16.enabled'] as const;

/** What a DeepSpeed config sets for a run. Source: deepspeed/runtime/config.py, zero/config.py and pipe, and their deprecated forms. */
export const entries: readonly Entry[] = [
  entry('globalBatch', integer(1, 100_000_000), 'train_batch_size'),
  entry('microBatch', degree, 'train_micro_batch_size_per_gpu'),
  entry('gradientAccumulation', degree, 'gradient_accumulation_steps'),
  entry('zeroStage', integer(0, 3), 'zero_optimization.stage'),
  entryAs('zeroStage', anything, oldZero, 'zero_optimization'),
  entry('overlapGradReduce', boolean, 'zero_optimization.overlap_comm'),
  entryAs('offloadOptimizer', word, device, 'zero_optimization.offload_optimizer.device'),
  entryAs('offloadOptimizer', boolean, whenOn('cpu'), 'zero_optimization.cpu_offload'),
  entryAs('offloadParameters', word, device, 'zero_optimization.offload_param.device'),
  entryAs('offloadParameters', boolean, whenOn('cpu'), 'zero_optimization.cpu_offload_params'),
  entryAs('precision', boolean, whenOn('fp16'), precisionSwitches[0]),
  entryAs('precision', boolean, whenOn('bf16'), precisionSwitches[1], precisionSwitches[2]),
  entryAs('gradAccumulationFp32', word, isFp32, 'data_types.grad_accum_dtype'),
  entry('optimizer', word, 'optimizer.type'),
  entryAs('masterWeightBytes', boolean, whenOn(2 as const), 'bf16.bf16_master_weights_and_grads'),
  entryAs('firstMomentBytes', boolean, whenOn(2), 'bf16.bf16_optimizer_states'),
  entryAs('secondMomentBytes', boolean, whenOn(2), 'bf16.bf16_optimizer_states'),
  entryAs('activationCheckpointing', anything, (value) => typeof value !== 'boolean' || value, 'activation_checkpointing'),
  entryAs('recomputeGranularity', integer(0, 10_000), (every) => (every > 0 ? 'full' : null), 'pipeline.activation_checkpoint_interval'),
  entryAs('recomputeLayers', integer(0, 10_000), (every) => (every > 1 ? every : null), 'pipeline.activation_checkpoint_interval'),
  entry('cpuCheckpointing', boolean, 'activation_checkpointing.cpu_checkpointing'),
  entry('pipeline', degree, 'pipeline.stages'),
  entry('partitionMethod', word, 'pipeline.partition', 'pipeline.partition_method'),
  entry('tensor', degree, 'tensor_parallel.autotp_size', 'tensor_parallel.tp_size'),
];
