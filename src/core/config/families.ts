import type { Located, LocatedFields } from '../located';
import type { Given } from './run';
import type { WrittenModel } from './written-model';

export const familyNames = ['gpt2', 'llama', 'mistral', 'mixtral', 'qwen2', 'qwen3', 'qwen3_moe', 'gpt_neox'] as const;
export type FamilyName = (typeof familyNames)[number];

/** Fields that a config.json of some family can set. */
export type FamilyField =
  | 'layers'
  | 'hidden'
  | 'heads'
  | 'kvHeads'
  | 'headDim'
  | 'ffn'
  | 'experts'
  | 'activeExperts'
  | 'expertFfn'
  | 'vocab'
  | 'tiedEmbeddings'
  | 'maxPositions'
  | 'qkvBias'
  | 'attentionOutputBias'
  | 'mlpBias';

/** What HuggingFace transformers documents of a family: key names (the class's own first, aliases after), defaults, and what every model of it has. */
export interface Family {
  readonly configClass: string;
  readonly keys: Readonly<Partial<Record<FamilyField, readonly string[]>>>;
  readonly defaults: {
    readonly layers: number;
    readonly hidden: number;
    readonly heads: number;
    /** null: as many as `heads`. */
    readonly kvHeads: number | null;
    /** null: hidden / heads. */
    readonly headDim: number | null;
    /** null: 4 hidden. */
    readonly ffn: number | null;
    /** Absent: dense. Without `ffn` of their own experts are as wide as a dense layer. */
    readonly experts?: { readonly count: number; readonly active: number; readonly ffn?: number };
    readonly vocab: number;
    readonly tiedEmbeddings: boolean;
    readonly maxPositions: number;
    readonly qkvBias: boolean;
    readonly attentionOutputBias: boolean;
    readonly mlpBias: boolean;
  };
  readonly always: Pick<WrittenModel, 'gatedMlp' | 'positions' | 'norm' | 'qkNorm'>;
}

const llamaKeys = {
  layers: ['num_hidden_layers'],
  hidden: ['hidden_size'],
  heads: ['num_attention_heads'],
  kvHeads: ['num_key_value_heads'],
  headDim: ['head_dim'],
  ffn: ['intermediate_size'],
  vocab: ['vocab_size'],
  tiedEmbeddings: ['tie_word_embeddings'],
  maxPositions: ['max_position_embeddings'],
} as const;

const llamaAlways = { gatedMlp: true, positions: 'rotary', norm: 'rmsnorm', qkNorm: false } as const;
const noBias = { qkvBias: false, attentionOutputBias: false, mlpBias: false } as const;

/** Source: the configuration and modelling classes of transformers 4.40 to 5.0, which agree on all of these. */
export const families: Readonly<Record<FamilyName, Family>> = {
  gpt2: {
    configClass: 'GPT2Config',
    keys: {
      layers: ['n_layer', 'num_hidden_layers'],
      hidden: ['n_embd', 'hidden_size'],
      heads: ['n_head', 'num_attention_heads'],
      ffn: ['n_inner'],
      vocab: ['vocab_size'],
      tiedEmbeddings: ['tie_word_embeddings'],
      maxPositions: ['n_positions', 'max_position_embeddings', 'n_ctx'],
    },
    defaults: {
      layers: 12,
      hidden: 768,
      heads: 12,
      kvHeads: null,
      headDim: null,
      ffn: null,
      vocab: 50257,
      tiedEmbeddings: true,
      maxPositions: 1024,
      qkvBias: true,
      attentionOutputBias: true,
      mlpBias: true,
    },
    always: { gatedMlp: false, positions: 'learned', norm: 'layernorm', qkNorm: false },
  },
  llama: {
    configClass: 'LlamaConfig',
    keys: { ...llamaKeys, qkvBias: ['attention_bias'], attentionOutputBias: ['attention_bias'], mlpBias: ['mlp_bias'] },
    defaults: {
      layers: 32,
      hidden: 4096,
      heads: 32,
      kvHeads: null,
      headDim: null,
      ffn: 11008,
      vocab: 32000,
      tiedEmbeddings: false,
      maxPositions: 2048,
      ...noBias,
    },
    always: llamaAlways,
  },
  mistral: {
    configClass: 'MistralConfig',
    keys: llamaKeys,
    defaults: {
      layers: 32,
      hidden: 4096,
      heads: 32,
      kvHeads: 8,
      headDim: null,
      ffn: 14336,
      vocab: 32000,
      tiedEmbeddings: false,
      maxPositions: 131072,
      ...noBias,
    },
    always: llamaAlways,
  },
  qwen2: {
    configClass: 'Qwen2Config',
    keys: llamaKeys,
    defaults: {
      layers: 32,
      hidden: 4096,
      heads: 32,
      kvHeads: 32,
      headDim: null,
      ffn: 22016,
      vocab: 151936,
      tiedEmbeddings: false,
      maxPositions: 32768,
      ...noBias,
      qkvBias: true,
    },
    always: llamaAlways,
  },
  qwen3: {
    configClass: 'Qwen3Config',
    keys: { ...llamaKeys, qkvBias: ['attention_bias'], attentionOutputBias: ['attention_bias'] },
    defaults: {
      layers: 32,
      hidden: 4096,
      heads: 32,
      kvHeads: 32,
      headDim: 128,
      ffn: 22016,
      vocab: 151936,
      tiedEmbeddings: false,
      maxPositions: 32768,
      ...noBias,
    },
    always: { ...llamaAlways, qkNorm: true },
  },
  gpt_neox: {
    configClass: 'GPTNeoXConfig',
    keys: {
      layers: ['num_hidden_layers'],
      hidden: ['hidden_size'],
      heads: ['num_attention_heads'],
      ffn: ['intermediate_size'],
      vocab: ['vocab_size'],
      tiedEmbeddings: ['tie_word_embeddings'],
      maxPositions: ['max_position_embeddings'],
      qkvBias: ['attention_bias'],
      attentionOutputBias: ['attention_bias'],
    },
    defaults: {
      layers: 44,
      hidden: 6144,
      heads: 64,
      kvHeads: null,
      headDim: null,
      ffn: 24576,
      vocab: 50432,
      tiedEmbeddings: false,
      maxPositions: 2048,
      qkvBias: true,
      attentionOutputBias: true,
      mlpBias: true,
    },
    always: { gatedMlp: false, positions: 'rotary', norm: 'layernorm', qkNorm: false },
  },
  mixtral: {
    configClass: 'MixtralConfig',
    keys: { ...llamaKeys, experts: ['num_local_experts', 'num_experts'], activeExperts: ['num_experts_per_tok'] },
    defaults: {
      layers: 32,
      hidden: 4096,
      heads: 32,
      kvHeads: 8,
      headDim: null,
      ffn: 14336,
      experts: { count: 8, active: 2 },
      vocab: 32000,
      tiedEmbeddings: false,
      maxPositions: 131072,
      ...noBias,
    },
    always: llamaAlways,
  },
  qwen3_moe: {
    configClass: 'Qwen3MoeConfig',
    keys: {
      ...llamaKeys,
      expertFfn: ['moe_intermediate_size'],
      experts: ['num_experts', 'num_local_experts'],
      activeExperts: ['num_experts_per_tok'],
      qkvBias: ['attention_bias'],
      attentionOutputBias: ['attention_bias'],
    },
    defaults: {
      layers: 24,
      hidden: 2048,
      heads: 32,
      kvHeads: 4,
      headDim: null,
      ffn: 6144,
      experts: { count: 128, active: 8, ffn: 768 },
      vocab: 151936,
      tiedEmbeddings: false,
      maxPositions: 32768,
      ...noBias,
    },
    always: { ...llamaAlways, qkNorm: true },
  },
};

/** Whether transformers' name of a model type is one we read. */
export function isFamily(modelType: string): modelType is FamilyName {
  return (familyNames as readonly string[]).includes(modelType);
}

/** Fills what a config of a family leaves out by the family's documented defaults, each marked with the sentence that documents it. */
export function completeFamily(name: FamilyName, modelType: Located<string>, given: Given<WrittenModel>): LocatedFields<WrittenModel> {
  const { configClass, keys, defaults, always } = families[name];
  const because = `every ${name} model has this`;
  const orDefault = <K extends FamilyField>(field: K, value: WrittenModel[K]): Located<WrittenModel[K]> => {
    const found: Located<WrittenModel[K]> | undefined = given[field];
    const key = keys[field]?.[0];
    return found ?? byDefault(value, key === undefined ? because : `${configClass} default: ${key} ${String(value)}`);
  };
  const orNone = (field: 'experts' | 'activeExperts' | 'expertFfn', value: number | undefined, none: string) =>
    value === undefined ? (given[field] ?? byDefault(null, none)) : orDefault(field, value);
  const hidden = orDefault('hidden', defaults.hidden);
  const heads = orDefault('heads', defaults.heads);
  return {
    modelType,
    layers: orDefault('layers', defaults.layers),
    hidden,
    heads,
    kvHeads: defaults.kvHeads === null ? (given.kvHeads ?? likeHeads(heads.value, configClass)) : orDefault('kvHeads', defaults.kvHeads),
    headDim:
      defaults.headDim === null ? (given.headDim ?? hiddenOverHeads(hidden.value, heads.value)) : orDefault('headDim', defaults.headDim),
    ffn: defaults.ffn === null ? (given.ffn ?? fourHidden(hidden.value, configClass)) : orDefault('ffn', defaults.ffn),
    experts: orNone('experts', defaults.experts?.count, `every ${name} model is dense`),
    activeExperts: orNone('activeExperts', defaults.experts?.active, `every ${name} model is dense`),
    expertFfn: orNone('expertFfn', defaults.experts?.ffn, 'experts have the feed-forward width of dense layers'),
    vocab: orDefault('vocab', defaults.vocab),
    tiedEmbeddings: orDefault('tiedEmbeddings', defaults.tiedEmbeddings),
    maxPositions: orDefault('maxPositions', defaults.maxPositions),
    qkvBias: orDefault('qkvBias', defaults.qkvBias),
    attentionOutputBias: orDefault('attentionOutputBias', defaults.attentionOutputBias),
    mlpBias: orDefault('mlpBias', defaults.mlpBias),
    gatedMlp: given.gatedMlp ?? byDefault(always.gatedMlp, because),
    positions: given.positions ?? byDefault(always.positions, because),
    norm: given.norm ?? byDefault(always.norm, because),
    qkNorm: given.qkNorm ?? byDefault(always.qkNorm, because),
  };
}

/** A value that no file gives, with the sentence that documents it. */
export function byDefault<T>(value: T, because: string): Located<T> {
  return { value, source: { kind: 'default', because } };
}

/** Head size when no file gives one; at least 1, so that a model with more heads than width can still be shown with its error. */
export function hiddenOverHeads(hidden: number, heads: number): Located<number> {
  return byDefault(Math.max(1, Math.floor(hidden / heads)), 'head size is hidden size / attention heads');
}

function likeHeads(heads: number, configClass: string): Located<number> {
  return byDefault(heads, `${configClass}: as many key/value heads as attention heads`);
}

function fourHidden(hidden: number, configClass: string): Located<number> {
  return byDefault(4 * hidden, `${configClass}: without n_inner, 4 times the hidden size`);
}
