import { byDefault } from '../../domain/located';
import { count, largestCount, on, positiveNumber, share } from '../../languages/reads';
import { environmentOnly } from '../../languages/yaml/references';
import { parseYaml } from '../../languages/yaml/document';
import type { Fact, Facts, LauncherFile } from '../../run/facts';
import { sentence } from '../../sentence';
import { createKeyReader, type KeyReader } from '../tables/keys';
import { launcherFile } from '../tables/launcher-file';
import { knownWord, pathWord, sizeUnlessOpen, torchDtypes, word } from '../tables/reads';
import { row, rows, under, type Table } from '../tables/table';

const base = 'model.base_model';
const decoder = `${base}.decoder`;
const mixer = `${decoder}.block.mixer`;
const network = `${decoder}.block.mlp`;
const precisions = { ...torchDtypes, bf16: 'bf16', fp16: 'fp16', fp32: 'fp32' } as const;

const linearLayers = [
  ...['query_layer', 'key_layer', 'value_layer', 'dense_layer'].map((name) => `${mixer}.${name}`),
  ...['layer_1', 'layer_2'].map((name) => `${network}.${name}`),
];

/** Parts whose rate of learning may be 0. */
const scaled = [`${decoder}.block`, mixer, network, `${base}.embeddings`, `${base}.head`, ...linearLayers];

/** Fields of `DistributedConfig`, `MultiStageConfig` and `ScheduleConfig`, of the data, and of the batch as it was before. */
const runKeys: Table = {
  flavor: [row('pretrained.path', pathWord)],
  sequenceLength: rows(count(1), 'data.maximum_document_length', 'batch.sequence_length'),
  microBatch: [row('batch.micro_batch_size', count(1))],
  globalBatch: [row('batch.batch_size', count(1))],
  ...under(['model.distributed.'], {
    tensor: [row('tensor_parallel', count(1))],
    pipeline: [row('pipeline_parallel', count(1))],
    context: [row('sequence_data_parallel', count(1))],
    sequenceParallel: [row('sequence_tensor_parallel', on(true))],
    precision: rows(knownWord(precisions), 'compute_dtype', 'training_dtype'),
  }),
  zeroStage: [row('model.multi_stage.zero_stage', knownWord({ 1: 1, 2: 2, 3: 3 }))],
  gradAccumulationFp32: [row('model.multi_stage.full_precision_gradients', on(true))],
};

/** A decoder of the same block throughout (`FixedBlockSequenceConfig`). */
const modelKeys: Table = {
  layers: [row(`${decoder}.num_blocks`, count(1))],
  hidden: [row(`${base}.hidden_size`, count(1))],
  heads: [row(`${mixer}.heads`, count(1))],
  kvHeads: [row(`${mixer}.head_groups`, count(1))],
  headDim: [row(`${mixer}.head_size`, count(1))],
  slidingWindow: [row(`${mixer}.window_size`, sizeUnlessOpen)],
  rotaryBase: [row(`${mixer}.rotary.theta`, positiveNumber)],
  ffn: [row(`${network}.intermediate_size`, count(1))],
  gatedMlp: [row(`${network}.gated`, on(true))],
  experts: [row(`${network}.experts`, count(1))],
  activeExperts: [row(`${network}.experts_per_token`, count(1))],
  sharedExperts: [row(`${network}.shared_experts`, sizeUnlessOpen)],
  vocab: [row(`${base}.embeddings.vocab_size`, count(1))],
  tiedEmbeddings: [row(`${base}.tied_embedding_weight`, on(true))],
  bias: [row(`${mixer}.add_linear_biases`, on(true))],
  mlpBias: [row(`${network}.add_linear_biases`, on(true))],
  norm: [row(`${decoder}.block.normalization.type`, knownWord({ rms_norm: 'rmsnorm', layer_norm: 'layernorm' }))],
};

/**
 * A YAML of Fast-LLM (`fast-llm train gpt`): `training`, `data`, `model`, `optimizer`. A micro-batch is a number of tokens, into which
 * documents are packed up to the longest that is allowed; files of before count sequences under `batch`. How many GPUs there are is up to
 * torchrun.
 * @throws ExpectedError for text that is not a YAML mapping, placed; see `parseYaml`.
 */
export function readFastLlm(file: string, text: string): LauncherFile {
  const document = parseYaml(file, text, 'last');
  const reader = createKeyReader(document, environmentOnly);
  const left = unlikeParts(reader);
  const isPlanned = left.length === 0 && reader.one(`${decoder}.num_blocks`, count(1)) !== undefined;
  const written = reader.facts(isPlanned ? { ...modelKeys, ...runKeys } : runKeys);
  const defaults = isPlanned ? { ...blockDefaults(reader, written), ...expertDefaults(reader) } : {};
  const facts = { ...defaults, ...packedTokens(reader, written), ...microBatches(reader), ...written };
  const leftOut = [...left, ...unlikeOrder(reader, written)];
  return {
    ...launcherFile(document, 'fast-llm', facts, reader),
    modelFiles: facts.flavor === undefined ? [] : [facts.flavor],
    ...readAdapters(reader),
    ...(leftOut.length > 0 && { leftOut }),
  };
}

/** A field of `ScheduleConfig`, which was once of `batch`. */
function ofSchedule(reader: KeyReader, name: string): Fact<number> | undefined {
  return reader.one(`schedule.${name}`, count(1)) ?? reader.one(`batch.${name}`, count(1));
}

/** A step runs as many micro-batches depth-first as are given, each time with as many breadth-first (`sequential_micro_batches`). */
function microBatches(reader: KeyReader): Facts {
  const [depth, breadth] = [ofSchedule(reader, 'depth_first_micro_batches'), ofSchedule(reader, 'breadth_first_micro_batches')];
  if (breadth === undefined) return depth === undefined ? {} : { gradientAccumulation: depth };
  const value = (depth?.value ?? 1) * breadth.value;
  return value > largestCount ? {} : { gradientAccumulation: { ...breadth, value } };
}

/** Orders of micro-batches that are not planned: breadth-first ones of a pipeline, and parts of a sequence. */
function unlikeOrder(reader: KeyReader, { pipeline }: Facts): readonly string[] {
  const isAbove = (name: string): boolean => (ofSchedule(reader, name)?.value ?? 1) > 1;
  return [
    ...((pipeline?.value ?? 1) > 1 && isAbove('breadth_first_micro_batches') ? ['schedule.breadth_first_micro_batches'] : []),
    ...(isAbove('micro_batch_splits') ? ['schedule.micro_batch_splits'] : []),
  ];
}

/** LoRA, by default of queries and values, with all else frozen (`LoRAConfig`; fast_llm/layers/attention/attention.py 138 to 165). */
function readAdapters(reader: KeyReader): Pick<LauncherFile, 'adapters'> {
  const kind = reader.one(`${base}.peft.type`, word);
  if (kind?.source.kind !== 'file' || kind.value === 'none') return {};
  const rank = reader.one(`${base}.peft.rank`, count(1));
  const dropout = reader.one(`${base}.peft.dropout`, share);
  const unlike = unlikeAdapters(reader, kind.value);
  const defaults = { rank: 8, targets: ['q_proj', 'v_proj'], dropout: 0, reason: sentence`Fast-LLM's default` };
  return {
    adapters: { place: kind.source.place, name: 'peft', ...(rank && { rank }), ...(dropout && { dropout }), ...(unlike && { unlike }), defaults }, // prettier-ignore
  };
}

/** Adapters of other layers than the usual, or next to weights that are trained. */
function unlikeAdapters(reader: KeyReader, kind: string): string | undefined {
  if (kind !== 'lora') return kind;
  if (reader.one(`${base}.peft.freeze_others`, on(true))?.value === false) return 'freeze_others: false';
  return linearLayers.map((layer) => `${layer}.apply_peft`).find((key) => reader.one(key, word) !== undefined);
}

/** Blocks that take turns, mixers other than attention, and frozen or distilled parts, by their keys. */
function unlikeParts(reader: KeyReader): readonly string[] {
  const unlike = (key: string, usual: readonly string[]): readonly string[] => {
    const value = reader.one(key, word)?.value;
    return value === undefined || usual.includes(value) ? [] : [key];
  };
  const set = (key: string): readonly string[] => (reader.one(key, word) === undefined ? [] : [key]);
  return [
    ...unlike(`${decoder}.type`, ['fixed']),
    ...unlike(`${mixer}.type`, ['attention']),
    ...unlike(`${network}.type`, ['mlp', 'moe']),
    ...unlike(`${network}.recompute_level`, ['none']),
    ...set(`${decoder}.block.distillation_model`),
    ...scaled.map((part) => `${part}.lr_scale`).flatMap(set),
  ];
}

/** Documents of the longest kind that a micro-batch of `data.micro_batch_size` tokens holds. */
function packedTokens(reader: KeyReader, { sequenceLength, microBatch }: Facts): Facts {
  const tokens = reader.one('data.micro_batch_size', count(1));
  if (tokens === undefined || microBatch !== undefined) return {};
  const length = sequenceLength?.value ?? tokens.value;
  const sequences = Math.max(1, Math.floor(tokens.value / length));
  return {
    ...(sequenceLength === undefined && { sequenceLength: { ...tokens, value: length } }),
    microBatch: { ...tokens, value: sequences },
  };
}

const reason = sentence`Fast-LLM's default`;

/** Defaults of `DecoderBlockConfig`, `AttentionConfig` and `MLPConfig`, and positions by two of their keys. */
function blockDefaults(reader: KeyReader, { norm }: Facts): Facts {
  return {
    hidden: byDefault(1024, reason),
    heads: byDefault(8, reason),
    kvHeads: byDefault(1, reason),
    headDim: byDefault(128, reason),
    ffn: byDefault(4096, reason),
    gatedMlp: byDefault(false, reason),
    vocab: byDefault(49152, reason),
    tiedEmbeddings: byDefault(false, reason),
    bias: byDefault(true, reason),
    mlpBias: byDefault(true, reason),
    ...(norm === undefined && { norm: byDefault('layernorm', reason) }),
    positions: positionsIn(reader) ?? byDefault('none', reason),
  };
}

function positionsIn(reader: KeyReader): Facts['positions'] {
  const rotary = reader.one(`${mixer}.rotary.type`, word)?.value ?? 'none';
  if (rotary !== 'none') return byDefault('rotary', sentence`rotary.type: ${rotary}`);
  const isLearned = reader.one(`${base}.embeddings.position_embeddings.enabled`, on(true))?.value === true;
  return isLearned ? byDefault('learned', sentence`position_embeddings.enabled: true`) : undefined;
}

/** Defaults of `MoEMLPConfig`. */
function expertDefaults(reader: KeyReader): Facts {
  if (reader.one(`${network}.type`, word)?.value !== 'moe') return {};
  return { experts: byDefault(2, reason), activeExperts: byDefault(1, reason) };
}
