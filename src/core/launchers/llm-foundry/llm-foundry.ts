import { byDefault } from '../../domain/located';
import { count, fixed, on, positiveNumber } from '../../languages/reads';
import { keysOfSize } from '../../huggingface/families';
import { createResolver } from '../../languages/yaml/references';
import { parseYaml, type YamlDocument } from '../../languages/yaml/document';
import type { Facts, LauncherFile, Program } from '../../run/facts';
import { sentence } from '../../sentence';
import { fsdpHybrid, fsdpStage } from '../accelerate/accelerate';
import { peftSection } from '../tables/adapters';
import { createKeyReader, type KeyReader } from '../tables/keys';
import { launcherFile } from '../tables/launcher-file';
import { anyOf, attentionRows, knownWord, pathWord, sizeUnlessOpen, word } from '../tables/reads';
import { joined, lenient, row, rows, under, type NodeRead, type Table } from '../tables/table';

const precisions = { amp_bf16: 'bf16', bf16: 'bf16', amp_fp16: 'fp16', fp16: 'fp16', amp_fp8: 'fp8', fp8: 'fp8', fp32: 'fp32' } as const;

/** Fields of `TrainConfig`, and of Composer's `FSDPConfig` and `TPConfig`. */
const keys: Table = {
  flavor: [row('model.pretrained_model_name_or_path', pathWord)],
  sequenceLength: [row('max_seq_len', count(1))],
  globalBatch: [row('global_train_batch_size', count(1))],
  microBatch: [row('device_train_microbatch_size', lenient(count(1)))],
  precision: [row('precision', knownWord(precisions))],
  optimizer: [row('optimizer.name', word)],
  tensor: [row('tp_config.tensor_parallel_degree', count(1))],
  zeroStage: [row('fsdp_config.sharding_strategy', fsdpStage)],
  hybridShard: [row('fsdp_config.sharding_strategy', fsdpHybrid)],
  dataReplicate: rows(sizeUnlessOpen, 'fsdp_config.data_parallel_replicate_degree'),
  recomputeGranularity: [row('fsdp_config.activation_checkpointing', lenient(fixed('full')))],
  cpuCheckpointing: [row('fsdp_config.activation_cpu_offload', on(true))],
};

/** Keys of the platform's own part. */
const platformKeys: Table = { world: [row('compute.gpus', count(1))] };

/** `HuggingFaceCausalLM`: a config.json of the hub, of which some values are replaced. */
const hubKeys: Table = joined(
  {
    attention: [row('model.use_flash_attention_2', fixed('flash'))],
    attentionKernel: [row('model.use_flash_attention_2', fixed('flash2'))],
  },
  attentionRows('model.attn_implementation'),
);

const overriddenSizes = ['layers', 'hidden', 'heads', 'kvHeads', 'headDim', 'ffn', 'vocab', 'maxPositions'] as const;

/** The keys of a config.json that sizes have in any class of Transformers. */
const overriddenKeys: Table = under(
  ['model.config_overrides.'],
  Object.fromEntries(overriddenSizes.map((size) => [size, rows(count(1), ...keysOfSize(size))])),
);

/** Fields of `MPTConfig`. */
const mptKeys: Table = {
  layers: [row('model.n_layers', count(1))],
  hidden: [row('model.d_model', count(1))],
  heads: [row('model.n_heads', count(1))],
  headDim: [row('model.head_dim', count(1))],
  kvHeads: [row('model.attn_config.kv_n_heads', count(1)), row('model.attn_config.attn_type', knownWord({ multiquery_attention: 1 }))],
  ffn: [row('model.ffn_config.ffn_hidden_size', count(1))],
  gatedMlp: [
    row(
      'model.ffn_config.ffn_type',
      anyOf((name) => (name.endsWith('glu') ? true : undefined)),
    ),
  ],
  experts: [row('model.ffn_config.moe_num_experts', count(1))],
  activeExperts: [row('model.ffn_config.moe_top_k', count(1))],
  vocab: [row('model.vocab_size', count(1))],
  maxPositions: [row('model.max_seq_len', count(1))],
  tiedEmbeddings: [row('model.tie_word_embeddings', on(true))],
  bias: [row('model.no_bias', on(false))],
  qkvBias: [row('model.attention_bias', on(true))],
  norm: [
    row(
      'model.norm_type',
      anyOf((name) => (name.includes('rmsnorm') ? 'rmsnorm' : 'layernorm')),
    ),
  ],
  qkNorm: [row('model.attn_config.qk_ln', on(true))],
  slidingWindow: [row('model.attn_config.sliding_window_size', sizeUnlessOpen)],
  rotaryBase: [row('model.attn_config.rope_theta', positiveNumber)],
  alibi: [row('model.attn_config.alibi', on(true))],
  attention: [row('model.attn_config.attn_impl', knownWord({ flash: 'flash', flex: 'flash', torch: 'unfused' }))],
  attentionKernel: [row('model.attn_config.attn_impl', knownWord({ flash: 'flash2' }))],
  fusedCrossEntropy: [row('model.loss_fn', knownWord({ fused_crossentropy: true, torch_crossentropy: false }))],
};

/** Without `fsdp_config` Composer wraps the model in DDP. */
const onDdp: Program = { name: 'LLM Foundry with DDP', traits: { runtime: 'ddp' } };

/**
 * A YAML of LLM Foundry (`scripts/train/train.py`, `TrainConfig`, read by OmegaConf), or of MosaicML's platform, which holds one under
 * `parameters` and the GPUs under `compute`. A rank takes its share of the batch in micro-batches.
 * @throws ExpectedError for text that is not a YAML mapping, placed; see `parseYaml`.
 */
export function readLlmFoundry(file: string, text: string): LauncherFile {
  const whole = parseYaml(file, text);
  const document = parametersIn(whole);
  const reader = createKeyReader(document, createResolver(document.root));
  const platform = createKeyReader(whole, createResolver(whole.root));
  const isMpt = (reader.one('model.name', word)?.value ?? '').startsWith('mpt');
  const written = {
    ...reader.facts(joined(keys, isMpt ? mptKeys : joined(hubKeys, overriddenKeys))),
    ...platform.facts(platformKeys),
  };
  const isSharded = document.root.entries.get('fsdp_config')?.value.kind === 'map';
  const facts = { ...defaults(isSharded), ...(isMpt ? mpt(reader, written) : {}), ...written };
  return {
    ...launcherFile(document, 'llm-foundry', facts, reader),
    ...(!isSharded && { program: onDdp }),
    ...peftSection(reader),
    ...(isMpt && mptLeftOut(reader)),
    modelFiles: isMpt || facts.flavor === undefined ? [] : [facts.flavor],
  };
}

function parametersIn(document: YamlDocument): YamlDocument {
  const inner = document.root.entries.get('parameters')?.value;
  return inner?.kind === 'map' && !document.root.entries.has('train_loader') ? { ...document, root: inner } : document;
}

function defaults(isSharded: boolean): Facts {
  return {
    zeroStage: isSharded
      ? byDefault(3, sentence`Composer's default sharding_strategy, FULL_SHARD`)
      : byDefault(0, sentence`without fsdp_config Composer takes DDP, which shards nothing`),
  };
}

/** Defaults of `MPTConfig`, and positions by three of its keys. */
function mpt(reader: KeyReader, { hidden, ffn }: Facts): Facts {
  const reason = sentence`MPTConfig's default`;
  const width = hidden?.value ?? 2048;
  const ratio = reader.one('model.expansion_ratio', positiveNumber)?.value ?? 4;
  return {
    layers: byDefault(24, reason),
    hidden: byDefault(2048, reason),
    heads: byDefault(16, reason),
    ...(ffn === undefined && { ffn: byDefault(Math.trunc(width * ratio), sentence`d_model times expansion_ratio, ${ratio}`) }),
    gatedMlp: byDefault(false, reason),
    vocab: byDefault(50368, reason),
    maxPositions: byDefault(2048, reason),
    tiedEmbeddings: byDefault(true, reason),
    bias: byDefault(true, reason),
    norm: byDefault('layernorm', reason),
    positions: mptPositions(reader) ?? byDefault('learned', reason),
    attention: byDefault('flash', reason),
    fusedCrossEntropy: byDefault(true, reason),
  };
}

/** Positions that a file sets by keys of other names. */
function mptPositions(reader: KeyReader): Facts['positions'] {
  if (reader.one('model.attn_config.rope', on(true))?.value === true) return byDefault('rotary', sentence`attn_config.rope: true`);
  if (reader.one('model.attn_config.alibi', on(true))?.value === true) return byDefault('none', sentence`attn_config.alibi: true`);
  return reader.one('model.learned_pos_emb', on(true))?.value === false ? byDefault('none', sentence`learned_pos_emb: false`) : undefined;
}

/** Blocks that differ, and attention whose biases are not those of the other layers. */
function mptLeftOut(reader: KeyReader): Pick<LauncherFile, 'leftOut'> {
  const hasBlocks = reader.one('model.block_overrides', anyMap) !== undefined;
  const ofAttention = reader.one('model.attention_bias', on(true))?.value;
  const isUnlike = ofAttention !== undefined && ofAttention !== (reader.one('model.no_bias', on(false))?.value ?? true);
  const leftOut = [...(hasBlocks ? ['model.block_overrides'] : []), ...(isUnlike ? [`model.attention_bias: ${ofAttention}`] : [])];
  return leftOut.length === 0 ? {} : { leftOut };
}

const anyMap: NodeRead<true> = { ofNode: ({ kind }) => (kind === 'map' ? { value: true } : { silent: true }) };
