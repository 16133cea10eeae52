import { byDefault } from '../../domain/located';
import { count, on, type FlagRead } from '../../languages/reads';
import { environmentOnly } from '../../languages/yaml/references';
import { parseYaml } from '../../languages/yaml/document';
import { own } from '../../records';
import type { Facts, LauncherFile } from '../../run/facts';
import { sentence } from '../../sentence';
import { createKeyReader, type KeyReader } from '../tables/keys';
import { launcherFile } from '../tables/launcher-file';
import { anyOf, knownWord, pathWord, sizeUnlessOpen, whether, word } from '../tables/reads';
import { lenient, row, rows, type Table } from '../tables/table';
import { vocabOfName } from '../tables/tokenizers';

/** jmp's names of number types (`parse_dtype` of its policy.py); `half` is bfloat16 on a TPU, which its files are for. */
const types = { bfloat16: 'bf16', bf16: 'bf16', f16: 'fp16', float16: 'fp16', half: 'bf16', f32: 'fp32', float32: 'fp32', full: 'fp32' } as const; // prettier-ignore

/** The type of parameters by jmp's policy: `p=f32,c=bfloat16`, or `bfloat16` for all; fp32 where it names others only. */
function parameterType(policy: string): string {
  return policy.includes('=') ? (/(?:^|,)\s*p(?:arams)?=(\w+)/.exec(policy)?.[1] ?? 'f32') : policy.trim();
}

/** The type that the same policy computes in: that of the parameters unless it names one. */
const computeType = anyOf((policy) => own(types, /(?:^|,)\s*c(?:ompute)?=(\w+)/.exec(policy)?.[1] ?? parameterType(policy)));

/** Parameters in 16 bits are updated as they are. */
const noMasterWeights = anyOf((policy) => {
  const type = own(types, parameterType(policy));
  return type === undefined || type === 'fp32' ? undefined : 0;
});

/** The model of the hub that a run starts from; `true` takes that of the model's class, `false` none. */
const hubName: FlagRead<string> = { ...anyOf((name) => (/^(?:|true|false|yes|no|on|off)$/i.test(name) ? undefined : name)), isPath: true };

/**
 * `ScanCheckpointPolicy.from_bool_or_str` of stanford-crfm/haliax (src/haliax/nn/scan.py): `recompute` and `full` save nothing of a block,
 * `offload` puts what blocks hand on into the host's memory, `save_all` is as false.
 */
const checkpoints = { recompute: 'full', full: 'full', offload: 'full', nested: 'full', save_all: 'none' } as const;

/** Fields of the trainer, and of a model that is in the file. */
const keys: Table = {
  flavor: rows(hubName, 'initialize_from_hf', 'model_name_or_path'),
  sequenceLength: rows(count(1), 'train_seq_len', 'max_train_length', 'model.max_seq_len', 'model.seq_len'),
  globalBatch: [row('trainer.train_batch_size', lenient(count(1)))],
  precision: [row('trainer.mp', computeType)],
  masterWeightBytes: [row('trainer.mp', noMasterWeights)],
  tensor: [row('trainer.model_axis_size', count(1))],
  recomputeGranularity: [
    row('model.gradient_checkpointing', whether('full', 'none')),
    row('model.gradient_checkpointing', knownWord(checkpoints)),
  ],
  cpuCheckpointing: [row('model.gradient_checkpointing', knownWord({ offload: true }))],
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
  const { flavor = reference(reader), ...run } = reader.facts(keys);
  const made = own(classes, type);
  const isHub = flavor !== undefined && (usesHub || document.root.entries.get('model') === undefined);
  const sizes = isHub || made === undefined ? {} : { ...classFacts(type, made, reader), ...reader.facts(modelKeys) };
  const facts = { ...passes(reader, run), ...gradients(run), ...replicas(reader), ...sizes, ...run, ...(isHub && { flavor }) };
  const leftOut = [...(isHub || made !== undefined ? [] : [`model.type: ${type}`]), ...notPlanned(reader)];
  return {
    ...launcherFile(document, 'levanter', facts, reader),
    ...(leftOut.length > 0 && { leftOut }),
    modelFiles: isHub ? [flavor] : [],
  };
}

/** What `initialize_from_hf: true` loads: the checkpoint that the model names, else that of its class, with the sizes of the class. */
function reference(reader: KeyReader): Facts['flavor'] {
  const isHub = reader.one('initialize_from_hf', whether(true, false))?.value === true;
  return isHub ? reader.one('model.reference_checkpoint', pathWord) : undefined;
}

/** Gradients have the type of the parameters. */
function gradients({ masterWeightBytes }: Facts): Facts {
  return masterWeightBytes === undefined
    ? {}
    : { gradAccumulationFp32: byDefault(false, sentence`trainer.mp keeps parameters in 16 bits`) };
}

const replicaKeys = ['trainer.replica_ici_axis_size', 'trainer.replica_dcn_axis_size'];

/** Replicas that do not shard: those in a slice times those over slices. */
function replicas(reader: KeyReader): Pick<Facts, 'dataReplicate'> {
  const given = replicaKeys.flatMap((key) => reader.one(key, sizeUnlessOpen) ?? []);
  const product = given.reduce((all, { value }) => all * value, 1);
  return product === 1 ? {} : { dataReplicate: byDefault(product, sentence`replicas in a slice times replicas over slices`) };
}

/** One replica a slice, of which the file gives no number; and recomputing in groups of layers. */
function notPlanned(reader: KeyReader): readonly string[] {
  const isEverySlice = reader.one('trainer.replica_dcn_axis_size', word)?.value === '-1';
  const isNested = reader.one('model.gradient_checkpointing', word)?.value === 'nested';
  return [...(isEverySlice ? ['trainer.replica_dcn_axis_size: -1'] : []), ...(isNested ? ['model.gradient_checkpointing: nested'] : [])];
}

function classFacts(type: string, made: ModelClass, reader: KeyReader): Facts {
  const reason = sentence`levanter's default for ${type}`;
  const inCode = sentence`hard-coded in levanter's ${type}`;
  const isGpt = type === 'gpt2';
  const hidden = reader.one('model.hidden_dim', count(1))?.value ?? made.hidden;
  const scale = reader.one('model.mlp_scale', count(1))?.value ?? 4;
  const length = reader.one('model.seq_len', count(1))?.value;
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
    ...(made.normalisesQk && { qkNorm: byDefault(true, inCode) }),
    tiedEmbeddings: byDefault(made.isTied === true, reason),
    gatedMlp: byDefault(!isGpt, inCode),
    norm: byDefault(isGpt ? 'layernorm' : 'rmsnorm', inCode),
    positions: byDefault(isGpt ? 'learned' : 'rotary', inCode),
    bias: byDefault(isGpt, reason),
    ...(type === 'qwen' && { qkvBias: byDefault(true, reason) }),
    ...(isGpt && { maxPositions: length === undefined ? byDefault(made.sequence, reason) : byDefault(length, sentence`model.seq_len`) }),
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
