import { byDefault } from '../../domain/located';
import type { Facts, LauncherFile } from '../../run/facts';
import { count, on, positiveNumber } from '../../languages/reads';
import { environmentOnly } from '../../languages/yaml/references';
import { parseYaml, type YamlDocument } from '../../languages/yaml/document';
import { sentence } from '../../sentence';
import { createKeyReader, type KeyReader } from '../tables/keys';
import { launcherFile } from '../tables/launcher-file';
import { knownWord, sizeUnlessOpen, torchDtypes } from '../tables/reads';
import { row, type Table } from '../tables/table';

const precisions = { ...torchDtypes, bf16: 'bf16', fp16: 'fp16', fp32: 'fp32' } as const;

/** Fields of `LMTransformerArgs` (apps/main/transformer.py). */
const modelKeys: Table = {
  layers: [row('model.n_layers', count(1))],
  hidden: [row('model.dim', count(1))],
  heads: [row('model.n_heads', count(1))],
  kvHeads: [row('model.n_kv_heads', count(1))],
  headDim: [row('model.head_dim', count(1))],
  vocab: [row('model.vocab_size', sizeUnlessOpen)],
  slidingWindow: [row('model.sliding_window', count(1))],
  tiedEmbeddings: [row('model.weight_tying', on(true))],
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

/** Fields of the model that the plain Transformer has; apps with others (Mamba, recurrent networks, bytes in patches) are not planned. */
const plainKeys: ReadonlySet<string> = new Set(
  'dim n_layers head_dim n_heads n_kv_heads ffn_dim_multiplier multiple_of norm_eps rope_theta init_base_std init_std_factor max_seqlen seed vocab_size weight_tying sliding_window attn_impl attn_bias_type'.split(
    ' ',
  ),
);

/**
 * A YAML of lingua (`apps/main/train.py`): `model`, `data`, `distributed`, `optim`. Its Transformer has rotary positions, RMSNorm, a gated
 * feed-forward and no biases. The vocabulary is that of the tokenizer. How many GPUs there are is up to its launcher for Slurm.
 * @throws ExpectedError for text that is not a YAML mapping, placed; see `parseYaml`.
 */
export function readLingua(file: string, text: string): LauncherFile {
  const document = parseYaml(file, text, 'last');
  const reader = createKeyReader(document, environmentOnly);
  const unlike = unlikeKeys(document);
  const isPlain = unlike.length === 0;
  const written = reader.facts(isPlain ? { ...modelKeys, ...keys } : keys);
  const facts = { ...(isPlain ? transformer(reader, written) : {}), ...written };
  const isSelective = reader.one('distributed.selective_activation_checkpointing', on(true))?.value === true;
  const leftOut = [...unlike, ...(isSelective ? ['distributed.selective_activation_checkpointing'] : [])];
  return { ...launcherFile(document, 'lingua', facts, reader), ...(leftOut.length > 0 && { leftOut }) };
}

function unlikeKeys({ root }: YamlDocument): readonly string[] {
  const model = root.entries.get('model')?.value;
  return model?.kind === 'map' ? [...model.entries.keys()].filter((key) => !plainKeys.has(key)).map((key) => `model.${key}`) : ['model'];
}

/** Widths that its code computes (`FeedForward` of lingua/transformer.py), and what it has without a key. */
function transformer(reader: KeyReader, { hidden, heads, headDim }: Facts): Facts {
  const reason = sentence`lingua's Transformer has it`;
  const multiple = reader.one('model.multiple_of', count(1))?.value ?? 256;
  const factor = reader.one('model.ffn_dim_multiplier', positiveNumber)?.value ?? 1;
  const dim = hidden?.value ?? 512;
  const width = multiple * Math.ceil(Math.floor(factor * Math.floor((8 * dim) / 3)) / multiple);
  const byHeadDim = headDim === undefined ? undefined : dim / headDim.value;
  return {
    layers: byDefault(8, reason),
    hidden: byDefault(512, reason),
    ffn: byDefault(width, sentence`lingua: two thirds of four times dim, in multiples of ${multiple}`),
    ...(heads === undefined && byHeadDim !== undefined && Number.isInteger(byHeadDim) && { heads: byDefault(byHeadDim, reason) }),
    gatedMlp: byDefault(true, reason),
    norm: byDefault('rmsnorm', reason),
    positions: byDefault('rotary', reason),
    bias: byDefault(false, reason),
    tiedEmbeddings: byDefault(false, reason),
  };
}
