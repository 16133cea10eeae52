import { byDefault } from '../../domain/located';
import { count, on, positiveNumber } from '../../languages/reads';
import { environmentOnly } from '../../languages/yaml/references';
import { parseYaml } from '../../languages/yaml/document';
import type { Facts, LauncherFile } from '../../run/facts';
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

/** Fields of `DistributedConfig`, `MultiStageConfig` and `ScheduleConfig`, of the data, and of the batch as it was before. */
const runKeys: Table = {
  flavor: [row('pretrained.path', pathWord)],
  sequenceLength: rows(count(1), 'data.maximum_document_length', 'batch.sequence_length'),
  microBatch: [row('batch.micro_batch_size', count(1))],
  globalBatch: [row('batch.batch_size', count(1))],
  gradientAccumulation: rows(count(1), 'schedule.depth_first_micro_batches', 'batch.depth_first_micro_batches'),
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
  const facts = { ...(isPlanned ? blockDefaults(reader, written) : {}), ...packedTokens(reader, written), ...written };
  return {
    ...launcherFile(document, 'fast-llm', facts, reader),
    modelFiles: facts.flavor === undefined ? [] : [facts.flavor],
    ...(left.length > 0 && { leftOut: left }),
  };
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
    ...set(`${network}.lr_scale`),
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

const reason = sentence`Fast-LLM has it without a key`;

/** What `DecoderBlockConfig`, `AttentionConfig` and `MLPConfig` have without a key. */
function blockDefaults(reader: KeyReader, { norm }: Facts): Facts {
  const rotary = reader.one(`${mixer}.rotary.type`, word)?.value ?? 'none';
  const hasPositions = reader.one(`${base}.embeddings.position_embeddings.enabled`, on(true))?.value === true;
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
    ...(norm === undefined && { norm: byDefault('layernorm', reason) }),
    positions: byDefault(rotary !== 'none' ? 'rotary' : hasPositions ? 'learned' : 'none', reason),
  };
}
