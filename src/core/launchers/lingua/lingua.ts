import { byDefault } from '../../domain/located';
import type { RecurrentKind } from '../../domain/model';
import { own } from '../../records';
import type { Facts, LauncherFile } from '../../run/facts';
import { count, on, positiveNumber } from '../../languages/reads';
import { environmentOnly } from '../../languages/yaml/references';
import { parseYaml, type YamlDocument } from '../../languages/yaml/document';
import { sentence } from '../../sentence';
import { createKeyReader, type KeyReader } from '../tables/keys';
import { launcherFile } from '../tables/launcher-file';
import { knownWord, sizeUnlessOpen, torchDtypes, word } from '../tables/reads';
import { row, under, type Table } from '../tables/table';

const precisions = { ...torchDtypes, bf16: 'bf16', fp16: 'fp16', fp32: 'fp32' } as const;

/** Fields of `LMTransformerArgs` (apps/main/transformer.py). */
const modelKeys: Table = {
  layers: [row('n_layers', count(1))],
  hidden: [row('dim', count(1))],
  heads: [row('n_heads', count(1))],
  kvHeads: [row('n_kv_heads', count(1))],
  headDim: [row('head_dim', count(1))],
  vocab: [row('vocab_size', sizeUnlessOpen)],
  slidingWindow: [row('sliding_window', count(1))],
  tiedEmbeddings: [row('weight_tying', on(true))],
};

/** Fields of `LMMambaArgs` (apps/mamba/mamba.py and core_mamba.py) in addition. */
const mambaKeys: Table = {
  stateDim: [row('state_dim', count(1))],
  stateGroups: [row('n_groups', count(1))],
  stateConvolution: [row('conv_size', sizeUnlessOpen)],
};

/** Fields of `TrainArgs`, `DataArgs` and `DistributedArgs`. */
const keys: Table = {
  sequenceLength: [row('data.seq_len', count(1))],
  microBatch: [row('data.batch_size', count(1))],
  gradientAccumulation: [row('grad_acc_steps', count(1))],
  tensor: [row('distributed.tp_size', count(1))],
  zeroStage: [row('distributed.fsdp_type', knownWord({ full_shard: 3, shard_grad_op: 2, no_shard: 0 }))],
  precision: [row('distributed.model_dtype', knownWord(precisions))],
  compile: [row('distributed.compile', on(true))],
};

const ofBoth = 'dim n_layers n_heads ffn_dim_multiplier multiple_of norm_eps init_base_std init_std_factor seed vocab_size weight_tying';
const plainKeys = 'head_dim n_kv_heads rope_theta max_seqlen sliding_window attn_impl attn_bias_type mask';
const stateKeys = 'state_dim n_groups conv_size dt_bias D_has_head_dim learnable_init_states ssm_chunk_size init_use_depth init_args';

/** Fields of the models that are planned; other apps (bytes in patches) have others. */
const known = {
  transformer: new Set(`${ofBoth} ${plainKeys}`.split(' ')),
  mamba: new Set(`${ofBoth} ${stateKeys}`.split(' ')),
  recurrent: new Set(`${ofBoth} conv_size lru_dim_multiplier`.split(' ')),
} as const;

/** Models of `apps/fastRNN` by their `model_type`. */
const recurrentTypes: Readonly<Record<string, RecurrentKind>> = { hawk: 'rg-lru', minGRU: 'min-gru', minLSTM: 'min-lstm' };

/** Fields that change what a step does without changing the layers: heads for further tokens. */
const inAddition: ReadonlySet<string> = new Set(['n_future_head']);

/** The section of the model that is trained, its kind, and its parts that are not planned. */
interface Described {
  readonly section: 'model' | 'entropy_model';
  readonly kind: keyof typeof known;
  /** Of recurrent networks. */
  readonly recurrent?: RecurrentKind;
  readonly unlike: readonly string[];
  readonly leftOut: readonly string[];
}

/**
 * A YAML of lingua (`apps/main/train.py`) or of blt, which is built on it: `model`, `data`, `distributed`, `optim`. Its Transformer has
 * rotary positions, RMSNorm, a gated feed-forward and no biases; its Mamba is Mamba-2, and it has three recurrent networks. The
 * vocabulary is that of the tokenizer. How many GPUs there are is up to its launcher for Slurm.
 * @throws ExpectedError for text that is not a YAML mapping, placed; see `parseYaml`.
 */
export function readLingua(file: string, text: string): LauncherFile {
  const document = parseYaml(file, text, 'last');
  const reader = createKeyReader(document, environmentOnly);
  const described = describeModel(document, reader);
  const { section, kind, unlike, leftOut } = described;
  const sizes = under([`${section}.`], kind === 'transformer' ? modelKeys : { ...modelKeys, ...mambaKeys });
  const given = reader.facts(sizes);
  const uneven = unlike.length === 0 ? headsNotDividing(described, reader, given) : [];
  const isPlanned = unlike.length === 0 && uneven.length === 0;
  const written = reader.facts(isPlanned ? { ...sizes, ...keys } : keys);
  const facts = { ...(isPlanned ? modelDefaults(described, reader, written) : {}), ...shardGroups(reader), ...written };
  const isSelective = reader.one('distributed.selective_activation_checkpointing', on(true))?.value === true;
  const left = [...unlike, ...uneven, ...leftOut, ...(isSelective ? ['distributed.selective_activation_checkpointing'] : [])];
  return { ...launcherFile(document, 'lingua', facts, reader), ...(left.length > 0 && { leftOut: left }) };
}

/** Heads that do not divide the width of a state, on which its code stops (`assert hidden_dim % n_heads == 0`). */
function headsNotDividing({ section, kind, recurrent }: Described, reader: KeyReader, { hidden, heads }: Facts): readonly string[] {
  if (kind === 'transformer') return [];
  const dim = hidden?.value ?? 512;
  const width = recurrent === undefined ? roundedWidth(reader, section, 2 * dim) : recurrentWidth(recurrent, reader, section, dim);
  const count = heads?.value ?? (recurrent === undefined ? 8 : 1);
  return width % count === 0 ? [] : [`${section}.n_heads: ${count} (does not divide a width of ${width})`];
}

function modelDefaults({ section, kind, recurrent }: Described, reader: KeyReader, written: Facts): Facts {
  if (recurrent !== undefined) return recurrentModel(recurrent, reader, section, written);
  return (kind === 'mamba' ? mamba : transformer)(reader, section, written);
}

/** blt trains a small Transformer over bytes where `train_entropy_model` is set. */
function describeModel({ root }: YamlDocument, reader: KeyReader): Described {
  const section = reader.one('train_entropy_model', on(true))?.value === true ? 'entropy_model' : 'model';
  const model = root.entries.get(section)?.value;
  if (model?.kind !== 'map') return { section, kind: 'transformer', unlike: [section], leftOut: [] };
  const names = [...model.entries.keys()];
  const app = reader.one('model_type', word);
  const recurrent = own(recurrentTypes, app?.value ?? '');
  const kind = recurrent !== undefined ? 'recurrent' : names.includes('state_dim') ? 'mamba' : 'transformer';
  const added = names.filter((name) => inAddition.has(name));
  const others = names.filter((name) => !known[kind].has(name) && !inAddition.has(name));
  const isOther = app !== undefined && recurrent === undefined;
  return {
    section,
    kind,
    ...(recurrent !== undefined && { recurrent }),
    unlike: [...others.map((name) => `${section}.${name}`), ...(isOther ? [`model_type: ${app.value}`] : [])],
    leftOut: added.map((name) => `${section}.${name}`),
  };
}

/** `local_rank < 8` (`setup_torch_distributed` of lingua/distributed.py). */
const gpusOfNode = 8;

/**
 * Groups of HSDP. One shard, the default, makes none: `fully_shard` then gets the mesh of the replicas and shards over all
 * (`parallelize_model` of lingua/distributed.py). Without `dp_replicate`, which its code computes from the GPUs (`validate_train_args` of
 * apps/main/train.py), only shards that fill a node are read.
 */
function shardGroups(reader: KeyReader): Facts {
  const shards = reader.one('distributed.dp_shard', count(1));
  const groups = reader.one('distributed.dp_replicate', count(1));
  if (shards === undefined || shards.value === 1) return {};
  if (groups !== undefined) return { dataShard: shards, dataReplicate: groups };
  const tensor = reader.one('distributed.tp_size', count(1))?.value ?? 1;
  return shards.value * tensor === gpusOfNode ? { hybridShard: { ...shards, value: true } } : {};
}

const reason = sentence`lingua's code has it`;

/** `multiple_of`, and what `ffn_dim_multiplier` makes of a width. */
function roundedWidth(reader: KeyReader, section: string, width: number): number {
  const multiple = reader.one(`${section}.multiple_of`, count(1))?.value ?? 256;
  const factor = reader.one(`${section}.ffn_dim_multiplier`, positiveNumber)?.value ?? 1;
  return multiple * Math.ceil(Math.floor(factor * Math.floor(width)) / multiple);
}

/** Widths that its code computes (`FeedForward` of lingua/transformer.py), and what it has without a key. */
function transformer(reader: KeyReader, section: string, { hidden, heads, headDim }: Facts): Facts {
  const dim = hidden?.value ?? 512;
  const byHeadDim = headDim === undefined ? undefined : dim / headDim.value;
  return {
    ...withoutBiases(),
    ffn: byDefault(roundedWidth(reader, section, (8 * dim) / 3), sentence`lingua: two thirds of four times dim, rounded up`),
    ...(heads === undefined && byHeadDim !== undefined && Number.isInteger(byHeadDim) && { heads: byDefault(byHeadDim, reason) }),
    gatedMlp: byDefault(true, reason),
    positions: byDefault('rotary', reason),
  };
}

/** Only layers of Mamba-2: the state is twice as wide as the model, in multiples (`SSM` of apps/mamba/core_mamba.py). */
function mamba(reader: KeyReader, section: string, { layers, hidden, heads }: Facts): Facts {
  const inner = roundedWidth(reader, section, 2 * (hidden?.value ?? 512));
  const headCount = heads?.value ?? 8;
  return {
    ...withoutBiases(),
    heads: byDefault(headCount, reason),
    hybridPattern: byDefault('M'.repeat(Math.min(layers?.value ?? 8, 10_000)), sentence`every layer of lingua's Mamba is one`),
    stateKind: byDefault('mamba2', reason),
    stateHeads: byDefault(headCount, reason),
    stateHeadDim: byDefault(inner / headCount, reason),
    stateDim: byDefault(128, reason),
    stateGroups: byDefault(1, reason),
    positions: byDefault('none', reason),
  };
}

/** Width of the state of a recurrent network. */
function recurrentWidth(kind: RecurrentKind, reader: KeyReader, section: string, dim: number): number {
  if (kind !== 'rg-lru') return roundedWidth(reader, section, 2 * dim);
  const factor = reader.one(`${section}.lru_dim_multiplier`, positiveNumber)?.value ?? 1;
  const multiple = reader.one(`${section}.multiple_of`, count(1))?.value ?? 256;
  return multiple * Math.ceil(Math.floor(factor * Math.floor((4 * dim) / 3)) / multiple);
}

/**
 * Recurrent networks: Hawk's RG-LRU is 4/3 as wide as the model and has a feed-forward network after it (`HawkBlock` of
 * apps/fastRNN/hawk/core_hawk.py); minGRU and minLSTM are twice as wide and have none (`GRUBlock`, `LSTMBlock`).
 */
function recurrentModel(kind: RecurrentKind, reader: KeyReader, section: string, { layers, hidden, heads }: Facts): Facts {
  const dim = hidden?.value ?? 512;
  const isHawk = kind === 'rg-lru';
  const inner = recurrentWidth(kind, reader, section, dim);
  const headCount = heads?.value ?? 1;
  const blocks = Math.min(layers?.value ?? 8, 10_000);
  return {
    ...withoutBiases(),
    heads: byDefault(headCount, reason),
    hybridPattern: byDefault((isHawk ? 'M-' : 'M').repeat(blocks), sentence`the layers of lingua's recurrent network`),
    stateKind: byDefault(kind, reason),
    stateHeads: byDefault(headCount, reason),
    stateHeadDim: byDefault(inner / headCount, reason),
    stateDim: byDefault(1, reason),
    stateGroups: byDefault(1, reason),
    stateConvolution: byDefault(0, reason),
    ffn: byDefault(roundedWidth(reader, section, (8 * dim) / 3), sentence`lingua: two thirds of four times dim, rounded up`),
    gatedMlp: byDefault(true, reason),
    positions: byDefault('none', reason),
  };
}

function withoutBiases(): Facts {
  return {
    layers: byDefault(8, reason),
    hidden: byDefault(512, reason),
    norm: byDefault('rmsnorm', reason),
    bias: byDefault(false, reason),
    tiedEmbeddings: byDefault(false, reason),
  };
}
