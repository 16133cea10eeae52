import { byDefault } from '../../domain/located';
import { count, on } from '../../languages/reads';
import { environmentOnly } from '../../languages/yaml/references';
import { parseYaml } from '../../languages/yaml/document';
import { own } from '../../records';
import type { Facts, LauncherFile } from '../../run/facts';
import { sentence } from '../../sentence';
import { createKeyReader, type KeyReader } from '../tables/keys';
import { launcherFile } from '../tables/launcher-file';
import { anyOf, pathWord, whether, word } from '../tables/reads';
import { lenient, row, rows, type Table } from '../tables/table';
import { vocabOfName } from '../tables/tokenizers';

/** jmp's policy: `p=f32,c=bfloat16`, `f32`, `bfloat16`. */
const policy = anyOf((written) => {
  const compute = /(?:^|,)\s*c(?:ompute)?=(\w+)/.exec(written)?.[1] ?? (written.includes('=') ? '' : written);
  return /^(bfloat16|bf16)$/.test(compute) ? 'bf16' : /^(f16|float16|half)$/.test(compute) ? 'fp16' : /^(f32|float32|full)$/.test(compute) ? 'fp32' : undefined; // prettier-ignore
});

/** Fields of the trainer, and of a model that is in the file. */
const keys: Table = {
  flavor: rows(pathWord, 'initialize_from_hf', 'model_name_or_path'),
  sequenceLength: rows(count(1), 'train_seq_len', 'max_train_length', 'model.max_seq_len', 'model.seq_len'),
  globalBatch: [row('trainer.train_batch_size', lenient(count(1)))],
  precision: [row('trainer.mp', policy)],
  tensor: [row('trainer.model_axis_size', count(1))],
  recomputeGranularity: [row('model.gradient_checkpointing', whether('full', 'none'))],
  vocab: rows(vocabOfName, 'data.tokenizer', 'tokenizer'),
};

const modelKeys: Table = {
  layers: [row('model.num_layers', count(1))],
  hidden: [row('model.hidden_dim', count(1))],
  heads: [row('model.num_heads', count(1))],
  kvHeads: [row('model.num_kv_heads', count(1))],
  headDim: [row('model.head_dim', count(1))],
  ffn: [row('model.intermediate_dim', count(1))],
  experts: [row('model.n_routed_experts', count(1))],
  activeExperts: [row('model.num_experts_per_tok', count(1))],
  tiedEmbeddings: [row('model.tie_word_embeddings', on(true))],
  bias: [row('model.use_bias', on(true))],
};

interface ModelClass {
  readonly sequence: number;
  readonly hidden: number;
  /** Null: four times the width. */
  readonly ffn: number | null;
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim?: number;
  readonly experts?: readonly [routed: number, active: number];
  readonly isTied?: true;
  readonly normalisesQk?: true;
}

const llama = { sequence: 2048, hidden: 4096, ffn: 11008, layers: 32, heads: 32, kvHeads: 32 } as const;
const mistral = { ...llama, sequence: 8192, ffn: 14336, kvHeads: 8 } as const;

/** Defaults of the classes of levanter's models; others are not planned. */
const classes: Readonly<Record<string, ModelClass>> = {
  gpt2: { sequence: 1024, hidden: 768, ffn: null, layers: 12, heads: 12, kvHeads: 12, isTied: true },
  llama,
  mistral,
  mixtral: { ...mistral, experts: [8, 2] },
  qwen: llama,
  qwen3: { ...llama, normalisesQk: true },
  olmo2: { ...llama, sequence: 4096, normalisesQk: true },
  gemma: { sequence: 8192, hidden: 2048, ffn: 16384, layers: 18, heads: 8, kvHeads: 1, headDim: 256, isTied: true },
};

/**
 * A YAML of levanter (`TrainLmConfig`, read by draccus). The vocabulary is that of the tokenizer of the data; how many devices there are is
 * up to its launcher. A batch is one pass of each device unless `per_device_parallelism` sets less.
 * @throws ExpectedError for text that is not a YAML mapping, placed; see `parseYaml`.
 */
export function readLevanter(file: string, text: string): LauncherFile {
  const document = parseYaml(file, text, 'last');
  const reader = createKeyReader(document, environmentOnly);
  const type = reader.one('model.type', word)?.value ?? 'gpt2';
  const usesHub = reader.one('use_hf_model_config', on(true))?.value === true || reader.one('model', word) !== undefined;
  const { flavor, ...run } = reader.facts(keys);
  const made = own(classes, type);
  const isHub = flavor !== undefined && (usesHub || document.root.entries.get('model') === undefined);
  const sizes = isHub || made === undefined ? {} : { ...classFacts(type, made, reader), ...reader.facts(modelKeys) };
  const facts = { ...passes(reader, run), ...sizes, ...run, ...(isHub && { flavor }) };
  const leftOut = isHub || made !== undefined ? [] : [`model.type: ${type}`];
  return {
    ...launcherFile(document, 'levanter', facts, reader),
    ...(leftOut.length > 0 && { leftOut }),
    modelFiles: isHub ? [flavor] : [],
  };
}

function classFacts(type: string, made: ModelClass, reader: KeyReader): Facts {
  const reason = sentence`levanter's ${type} has it without a key`;
  const isGpt = type === 'gpt2';
  const hidden = reader.one('model.hidden_dim', count(1))?.value ?? made.hidden;
  const scale = reader.one('model.mlp_scale', count(1))?.value ?? 4;
  return {
    layers: byDefault(made.layers, reason),
    hidden: byDefault(made.hidden, reason),
    heads: byDefault(made.heads, reason),
    // without num_kv_heads as many as a file sets heads only in gpt2, which has no groups
    ...(!isGpt && { kvHeads: byDefault(made.kvHeads, reason) }),
    ffn: byDefault(made.ffn ?? scale * hidden, made.ffn === null ? sentence`mlp_scale ${scale} times the width` : reason),
    sequenceLength: byDefault(made.sequence, reason),
    ...(made.headDim !== undefined && { headDim: byDefault(made.headDim, reason) }),
    ...(made.experts && { experts: byDefault(made.experts[0], reason), activeExperts: byDefault(made.experts[1], reason) }),
    ...(made.normalisesQk && { qkNorm: byDefault(true, reason) }),
    tiedEmbeddings: byDefault(made.isTied === true, reason),
    gatedMlp: byDefault(!isGpt, reason),
    norm: byDefault(isGpt ? 'layernorm' : 'rmsnorm', reason),
    positions: byDefault(isGpt ? 'learned' : 'rotary', reason),
    bias: byDefault(isGpt, reason),
    ...(type === 'qwen' && { qkvBias: byDefault(true, reason) }),
    ...(isGpt && { maxPositions: byDefault(reader.one('model.seq_len', count(1))?.value ?? made.sequence, reason) }),
  };
}

/** A device takes its whole share in one pass, or what `per_device_parallelism` gives; shares that are smaller lower it. */
function passes(reader: KeyReader, { globalBatch }: Facts): Pick<Facts, 'microBatch'> {
  const each = reader.one(
    'trainer.per_device_parallelism',
    anyOf((written) => (/^[1-9]\d{0,5}$/.test(written) ? Number(written) : undefined)),
  );
  if (each !== undefined) return { microBatch: each };
  const batch = globalBatch?.value ?? 512;
  return { microBatch: byDefault(batch, sentence`levanter's per_device_parallelism -1: one pass of the whole share`) };
}
