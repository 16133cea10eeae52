import * as v from 'valibot';
import { row, rows, written, type ValueTable } from '../tables/table';
import { wordFor } from '../../languages/reads';
import { own } from '../../records';
import { torchDtypes } from '../tables/reads';
import { value, whenOn } from '../tables/values';
import { boolean, integer, type Rule } from '../../domain/settings/rules';
import { sentence } from '../../sentence';

/**
 * Sections changed over the years: sizes of parallelism were under [training] (2024), those of pipelines under [experimental] (2024), all
 * under [parallelism] since 2025.
 */
const sections = ['parallelism', 'training', 'experimental'];
const anywhere = (key: string): readonly string[] => sections.map((section) => `${section}.${key}`);

const word: Rule<string> = { schema: v.pipe(v.string(), v.maxLength(4096)), type: 'string', expects: sentence`a name in quotes` };
const words: Rule<readonly string[] | string> = {
  schema: v.union([v.array(v.string()), v.string()]),
  type: 'list',
  expects: sentence`a list of names in quotes`,
};
/** `training.fp8_linear` named the scaling until 2024-07; no name is none. */
const booleanOrKind: Rule<boolean | string> = {
  schema: v.union([v.boolean(), v.picklist(['', 'dynamic', 'delayed'])]),
  type: 'boolean',
  expects: sentence`true, false or "dynamic"`,
};
const lists: Rule<readonly unknown[]> = { schema: v.array(v.array(v.string())), type: 'list', expects: sentence`a list of lists of names` };
const wordOrCount: Rule<string | number> = {
  schema: v.union([v.string(), v.pipe(v.number(), v.integer(), v.minValue(1))]),
  type: 'string',
  expects: sentence`"op" or a number of layers`,
};

const degree = integer(1, 1_000_000);
/** What is left of the GPUs is -1. */
const leftover: Rule<number> = {
  schema: v.pipe(
    v.number(),
    v.integer(),
    v.check((value) => value === -1 || (value >= 1 && value <= 1_000_000)),
  ),
  type: 'number',
  expects: sentence`-1 (all remaining GPUs) or a whole number from 1 to 1,000,000`,
};
const size: Rule<number> = {
  schema: v.pipe(
    v.number(),
    v.integer(),
    v.check((value) => value === -1 || (value >= 1 && value <= 100_000_000)),
  ),
  type: 'number',
  expects: sentence`-1 (what the replicas take together) or a whole number from 1 to 100,000,000`,
};

const given = (value: number): number | null => (value === -1 ? null : value);
const filled = (value: string): string | null => (value === '' ? null : value);
const count = (value: readonly unknown[] | string): number => (typeof value === 'string' ? value.split(',') : value).length;
const listed = (value: readonly unknown[] | string): number | null => (value.length === 0 ? null : count(value));
const toPrecision = (name: string) => own<(typeof torchDtypes)[keyof typeof torchDtypes]>(torchDtypes, name) ?? null;

/** Converters of linear layers (`float8`, `quantize.linear.mx`) and their classes (`MXFP8LinearConverter`), by version. */
const mxfp8Converter = /\bmx\b|mxfp8|^MX/im;
const converts = (names: readonly string[] | string, kind: RegExp): boolean => [names].flat().some((name) => kind.test(name));
const toNarrowFormat = (names: readonly string[] | string) =>
  converts(names, /nvfp4/i) ? 'nvfp4' : converts(names, /float8/i) || converts(names, mxfp8Converter) ? 'fp8' : null;
/** The classes of 2026 scale by rows by default; the names before them by `recipe_name`, without one by tensors. */
const recipeOfConverters = (names: readonly string[] | string) =>
  converts(names, mxfp8Converter) ? 'mxfp8' : [names].flat().some((name) => name.startsWith('Float8LinearConverter')) ? 'rowwise' : null;
/** `rowwise_with_gw_hp` computes gradients of weights in bf16. */
const toFp8Recipe = (name: string) => (name === 'tensorwise' ? 'tensorwise' : name.startsWith('rowwise') ? 'rowwise' : null);

/**
 * What a TorchTitan TOML can set for a run, by the names its versions have used (newest first). Source: JobConfig of torchtitan from
 * 2024-03 to 2026-02, when Python configs replaced TOML.
 */
export const titanKeys: ValueTable = {
  modelType: [row('model.name', value(word, filled))],
  flavor: [row('model.flavor', value(word, filled))],
  sequenceLength: [row('training.seq_len', value(integer(1, 100_000_000)))],
  localBatch: rows(value(integer(1, 1_000_000)), 'training.local_batch_size', 'training.batch_size'),
  globalBatch: [row('training.global_batch_size', value(size, given))],
  precision: [
    row('model.converters', value(words, toNarrowFormat)),
    row('float8.enable_float8_linear', value(boolean, whenOn('fp8'))),
    row(
      'training.fp8_linear',
      value(booleanOrKind, (kind) => (kind === false || kind === '' ? null : 'fp8')),
    ),
    row(
      'training.dtype',
      value(word, (name) => (name === 'float32' ? null : toPrecision(name))),
    ),
    row(
      'training.mixed_precision_param',
      written(value(word, toPrecision), (precision) => wordFor(torchDtypes, precision)),
    ),
  ],
  fp8Recipe: [
    row('model.converters', value(words, recipeOfConverters)),
    ...rows(value(word, toFp8Recipe), 'quantize.linear.float8.recipe_name', 'float8.recipe_name'),
  ],
  optimizer: [
    row(
      'optimizer.implementation',
      value(word, (name) => (name === 'fused_opt_states_bf16' ? name : null)),
    ),
    row('optimizer.name', value(word, filled)),
  ],
  offloadParameters: [row('training.enable_cpu_offload', value(boolean, whenOn('cpu')))],
  offloadOptimizer: [row('training.enable_cpu_offload', value(boolean, whenOn('cpu')))],
  loadCheckpoint: rows(value(boolean, whenOn(true)), 'checkpoint.enable', 'checkpoint.enable_checkpoint'),
  loadDataPosition: [
    row(
      'checkpoint.exclude_from_loading',
      value(words, (names) => ([names].flat().includes('dataloader') ? false : null)),
    ),
  ],
  recomputeGranularity: [row('activation_checkpoint.mode', value(word, filled))],
  compile: rows(value(boolean), 'compile.enable', 'training.compile'),
  recomputeOption: [row('activation_checkpoint.selective_ac_option', value(wordOrCount, String))],
  tensor: rows(value(degree), ...anywhere('tensor_parallel_degree'), 'training.sequence_parallel_degree'),
  sequenceParallel: [row('parallelism.enable_sequence_parallel', value(boolean))],
  asyncTensorParallel: rows(value(boolean), ...anywhere('enable_async_tensor_parallel')),
  pipeline: rows(value(degree), ...anywhere('pipeline_parallel_degree')),
  context: rows(value(degree), ...anywhere('context_parallel_degree')),
  expert: rows(value(degree), ...anywhere('expert_parallel_degree')),
  expertTensor: rows(value(degree), ...anywhere('expert_tensor_parallel_degree')),
  dataReplicate: rows(value(leftover, given), ...anywhere('data_parallel_replicate_degree')),
  dataShard: rows(value(leftover), ...anywhere('data_parallel_shard_degree'), 'training.data_parallel_degree'),
  schedule: rows(value(word, filled), ...anywhere('pipeline_parallel_schedule')),
  scheduleCsv: rows(value(word, filled), ...anywhere('pipeline_parallel_schedule_csv')),
  microBatch: rows(value(degree), ...anywhere('pipeline_parallel_microbatch_size')),
  microBatches: rows(value(degree), 'parallelism.num_pp_microbatches', ...anywhere('pipeline_parallel_microbatches')),
  layersPerStage: rows(value(integer(1, 10_000)), ...anywhere('pipeline_parallel_layers_per_stage')),
  firstStageLessLayers: rows(value(integer(0, 10_000)), ...anywhere('pipeline_parallel_first_stage_less_layers')),
  lastStageLessLayers: rows(value(integer(0, 10_000)), ...anywhere('pipeline_parallel_last_stage_less_layers')),
  totalStages: [
    ...rows(value(lists, listed), ...anywhere('module_fqns_per_model_part')),
    ...rows(
      value(words, (points) => (listed(points) === null ? null : count(points) + 1)),
      ...anywhere('pipeline_parallel_split_points'),
    ),
  ],
};
