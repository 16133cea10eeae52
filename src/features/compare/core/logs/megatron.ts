import type { NumberFact } from './facts';
import { countIn, numberIn, timestampIn } from './lines';
import type { LogFormat, LogLines } from './run-log';
import { makeRunRecorder, type RunRecorder } from './recorder';

/*
 * Megatron-LM and its descendants (Megatron Bridge, Megatron-DeepSpeed, FlagScale): `training_log` and `report_memory` of
 * megatron/training, the sizes and the dump of all arguments of arguments.py. Read at d98e8a64; older forms from logs.
 */

/** Every line is the mean of the steps since the one before it. Argonne's fork joins words with `_`. */
const elapsed = /elapsed[ _]time[ _]per[ _]iteration[ _]\(?ms\)?\s{0,9}[:=]\s{0,9}(\d[\d.]*(?:e[+-]?\d+)?)/i;
const begun = /\biteration\s{0,3}=?\s{0,12}(\d+)\s{0,3}\/\s{0,12}\d+/gi;
const megabyte = 2 ** 20;

export const megatronLog: LogFormat = {
  program: 'megatron',
  name: 'Megatron-LM',
  stepLine: elapsed,
  anyLine: /iteration|memory \(MB\)|world size| \.\.|checkpoint|in billions/,
  read: (): LogLines => {
    const run = makeRunRecorder('megatron');
    const dump: Dump = {};
    return {
      push: (line) => {
        if (elapsed.test(line)) readSteps(line, run);
        if (line.includes('memory (MB)')) readMemory(line, run);
        if (line.includes('using world size:')) readSizes(line, run);
        else if (line.includes(' ..')) readArgument(line, run, dump);
        else if (line.includes('checkpoint')) readCheckpoint(line, run);
        if (/^\W*(?:\w+\W+)?Total number of parameters in billions/.test(line)) run.fact('parameters', billions(line));
      },
      end: () => run.end(),
    };
  },
};

/** Lines of ranks may be joined: each part from one `iteration n/N` to the next is read by itself. */
function readSteps(line: string, run: RunRecorder): void {
  const starts = [...line.matchAll(begun)].map(({ index, 1: number }) => ({ index, iteration: Number(number) }));
  const parts = starts.length === 0 ? [{ index: 0, iteration: null }] : starts;
  for (const [at, { index, iteration }] of parts.entries()) {
    const text = line.slice(index, parts[at + 1]?.index);
    const ms = numberIn(text, elapsed);
    if (ms === null) continue;
    run.step({
      iteration,
      ms,
      atMs: timestampIn(line.slice(0, index)),
      globalBatch: numberIn(text, /global[ _]batch[ _]size\s{0,3}[:=]\s{0,9}(\d+)/),
      tflopsPerGpu: numberIn(text, /(?:throughput per GPU \(TFLOP\/s\/GPU\)|TFLOPs)\s{0,3}[:=]\s{0,3}([\d.]+)/),
      skipped: numberIn(text, /number[ _]of[ _]skipped[ _]iterations\s{0,3}[:=]\s{0,9}(\d+)/) !== null,
    });
  }
}

function readMemory(line: string, run: RunRecorder): void {
  for (const [, rank, figures = ''] of line.matchAll(/\[Rank (\d{1,7})\][^[]{0,60}memory \(MB\)([^[]{0,300})/g)) {
    const bytes = (pattern: RegExp): number | null => {
      const megabytes = numberIn(figures, pattern);
      return megabytes === null ? null : megabytes * megabyte;
    };
    run.memory({
      rank: Number(rank),
      allocatedBytes: bytes(/max allocated: ([\d.]+)/),
      reservedBytes: bytes(/max reserved: ([\d.]+)/),
    });
  }
}

const sizes = [
  ['gpus', 'world size'],
  ['layout.data', 'data-parallel'],
  ['layout.context', 'context-parallel'],
  ['layout.context', 'sequence-parallel'],
  ['layout.tensor', 'tensor-model-parallel'],
  ['layout.pipeline', 'pipeline-model-parallel'],
] as const;

function readSizes(line: string, run: RunRecorder): void {
  run.begin();
  for (const [key, name] of sizes) run.fact(key, numberIn(line, new RegExp(`(?<![\\w-])${name}(?:[- ]size)?: ?(\\d+)`)));
}

const argument = /(?:^|\s)([a-z][a-z0-9_]{1,60}) \.{3,60} (\S.{0,200})$/;
const counts = new Map<string, NumberFact>(
  Object.entries<NumberFact>({
    world_size: 'gpus',
    data_parallel_size: 'layout.data',
    context_parallel_size: 'layout.context',
    tensor_model_parallel_size: 'layout.tensor',
    pipeline_model_parallel_size: 'layout.pipeline',
    expert_model_parallel_size: 'layout.expert',
    virtual_pipeline_model_parallel_size: 'layout.virtualStages',
    micro_batch_size: 'training.microBatch',
    global_batch_size: 'training.globalBatch',
    seq_length: 'training.sequenceLength',
    num_layers: 'model.layers',
    hidden_size: 'model.hidden',
    num_attention_heads: 'model.heads',
    ffn_hidden_size: 'model.ffn',
    num_experts: 'model.experts',
    log_interval: 'logInterval',
  }),
);
/** What `None` means. */
const ofNone = new Map([
  ['virtual_pipeline_model_parallel_size', 1],
  ['num_experts', 0],
]);
const precisions = new Map([
  ['torch.bfloat16', 'bf16'],
  ['torch.float16', 'fp16'],
  ['torch.float32', 'fp32'],
]);
/** Arguments that mean something together. */
const joined = [
  'group_query_attention',
  'num_query_groups',
  'num_attention_heads',
  'use_distributed_optimizer',
  'use_megatron_fsdp',
  'use_torch_fsdp2',
  'data_parallel_sharding_strategy',
] as const;
type Dump = Partial<Record<(typeof joined)[number], string>>;
const shardedStages = new Map([
  ['no_shard', 0],
  ['optim', 1],
  ['optim_grads', 2],
  ['optim_grads_params', 3],
]);

/** One line of the dump of all arguments. DeepSpeed's own dump has the same look, and other meanings. */
function readArgument(line: string, run: RunRecorder, dump: Dump): void {
  const [, name = '', written = ''] = line.includes('config.py') ? [] : (argument.exec(line) ?? []);
  const value = written.trim();
  const key = counts.get(name);
  if (key !== undefined) run.fact(key, value === 'None' ? (ofNone.get(name) ?? null) : countIn(value));
  else if (name === 'params_dtype') run.fact('training.precision', precisions.get(value) ?? null);
  else if (name === 'recompute_granularity') run.fact('training.recompute', value === 'None' ? 'none' : value.slice(0, 20));
  const one = joined.find((each) => each === name);
  if (one === undefined) return;
  dump[one] = value;
  run.fact('model.kvHeads', readKvHeads(dump));
  run.fact('training.zeroStage', readZeroStage(dump));
}

/** Without grouped-query attention the number of groups means nothing. */
function readKvHeads({ group_query_attention: grouped, num_query_groups: groups, num_attention_heads: heads }: Dump): number | null {
  return countIn(grouped === 'True' ? groups : grouped === 'False' ? heads : undefined);
}

function readZeroStage(dump: Dump): number | null {
  if (dump.use_torch_fsdp2 === 'True') return 3;
  if (dump.use_megatron_fsdp === 'True') return shardedStages.get(dump.data_parallel_sharding_strategy ?? '') ?? null;
  return dump.use_distributed_optimizer === undefined ? null : dump.use_distributed_optimizer === 'True' ? 1 : 0;
}

function readCheckpoint(line: string, run: RunRecorder): void {
  const [, iteration] = /loaded checkpoint\b.{0,2000}\bat iteration (\d{1,12})/.exec(line) ?? [];
  if (iteration !== undefined) run.startsAfter(Number(iteration));
}

function billions(line: string): number | null {
  const count = numberIn(line, /in billions:\s{0,3}([\d.]+)/);
  return count === null ? null : count * 1e9;
}
