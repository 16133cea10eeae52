import { classDefaults, type ClassName, type ClassSizes } from './class-defaults';
import type { SmallParameters, StateKind, Stacks } from '../domain/model';
import type { FactValues } from '../run/facts';
import type { ModelTraits, WrittenModel } from '../run/written-model';
import type { Sentence } from '../sentence';

/** Sizes and traits that a config.json of some family can set directly. */
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

/** What configs say beyond sizes: whole numbers from 0. */
export type ExtraField =
  | 'sharedExperts'
  | 'sharedExpertFfn'
  | 'expertLatent'
  | 'routerGroups'
  | 'routerGroupTopk'
  | 'firstDenseLayers'
  | 'decoderSparseStep'
  | 'qLoraRank'
  | 'kvLoraRank'
  | 'qkNopeHeadDim'
  | 'qkRopeHeadDim'
  | 'vHeadDim'
  | 'mtpLayers';

/** What every encoder-decoder model of a family has; its `keys` and `defaults` are of the encoder, `maxPositions` of the decoder. */
interface FamilyStacks extends Pick<Stacks, 'sourcePositions' | 'finalNorms' | 'keyBias'> {
  /** Class's default of the decoder's layers; null: as many as the encoder has. */
  readonly decoderLayers: number | null;
  /** Decoders have heads and a feed-forward width of their own. */
  readonly ownSizes?: true;
  /** Longest source: as the decoder's positions, or this many unless set otherwise; null: no limit. */
  readonly maxSource: 'like-target' | number | null;
  /** Attention inside the stacks is biased by distance, in each one's first layer for all or in every layer. */
  readonly relativeBias?: 'first' | 'every';
  readonly melBins?: number;
}

/** Sliding window: `always` when there is one, `flag` only under `use_sliding_window`, which is false unless set. */
interface WindowRule {
  readonly when: 'always' | 'flag';
  /** Window of the class in tokens; null: none unless given. */
  readonly tokens: number | null;
}

/** Sizes of a model of a family, and access to other keys of its config: null where it has no such number or switch. */
export interface FamilySizes extends Readonly<Pick<WrittenModel, 'layers' | 'hidden' | 'heads' | 'kvHeads' | 'headDim' | 'ffn' | 'vocab'>> {
  readonly experts: number;
  readonly maxPositions: number;
  readonly number: (key: string) => number | null;
  /** Entries of a list of numbers or words; null where there is none. */
  readonly list: (key: string) => readonly unknown[] | null;
}

/**
 * What HuggingFace transformers documents of a family: key names (the class's own first, aliases after), defaults, and what every model of
 * it has.
 */
export interface Family {
  readonly configClass: string;
  readonly kind?: 'encoder' | 'encoder-decoder';
  /** Its sizes were guessed from keys: the type is none we know. */
  readonly assumed?: true;
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
    readonly experts?: { readonly count: number; readonly active?: number; readonly ffn?: number };
    /** 0: no vocabulary. */
    readonly vocab: number;
    readonly tiedEmbeddings: boolean;
    /** null: positions are not bounded by a table. */
    readonly maxPositions: number | null;
    readonly qkvBias: boolean;
    readonly attentionOutputBias: boolean;
    readonly mlpBias: boolean;
  };
  readonly always: Pick<WrittenModel, 'gatedMlp' | 'positions' | 'norm' | 'qkNorm'>;
  /** Fields whose default planning assumes: neither the class's documentation nor a config that omits them gives it. */
  readonly assumedFields?: readonly FamilyField[];
  /** Present where `kind` is encoder-decoder. */
  readonly stacks?: FamilyStacks;
  readonly extras?: Readonly<Partial<Record<ExtraField, number>>>;
  readonly window?: WindowRule;
  /** One layer in this many attends to the whole sequence, the others to `kind`; the last of each period is the whole one. */
  readonly pattern?: { readonly period: number; readonly keys: readonly string[]; readonly kind: string };
  /** What every model of the family has beyond sizes. */
  readonly traits?: ModelTraits;
  /** What every model of the family learns beyond the norms and biases that all families share. */
  readonly small?: (sizes: FamilySizes) => SmallParameters;
  /** What planning counts differently from the model. */
  readonly approximated?: Sentence;
  /** Why models of the family are not planned. */
  readonly unplanned?: Sentence;
  /** What its layers with a state have. */
  readonly state?: StateFamily;
}

/** Sizes of a state that a config can set. `inner`: width of all its values together. */
export type StateField = 'heads' | 'headDim' | 'stateDim' | 'groups' | 'stepRank' | 'convolution' | 'expand' | 'inner';

/**
 * How the configs of a family write what a mixer with a state has: key names, and defaults. A size that follows from others where it is not
 * written (or `auto`) has no default.
 */
export interface StateFamily {
  readonly kind: StateKind;
  readonly keys: Readonly<Partial<Record<StateField, readonly string[]>>>;
  readonly defaults: Readonly<Partial<Record<StateField, number>>>;
  /** Switches of biases; absent: there are none. */
  readonly convolutionBias?: { readonly key: string; readonly otherwise: boolean };
  readonly projectionBias?: { readonly key: string; readonly otherwise: boolean };
  /** Norms inside the mixer: of all values, of one head, of step size, B and C; with a key, under that switch, which is off unless set. */
  readonly norm: 'values' | 'head' | 'steps' | 'none' | { readonly key: string };
  /** Tokens that its kernels work on at once: the key, and the class's default. */
  readonly chunk: { readonly key?: string; readonly otherwise: number };
  /** How the kinds of the layers are written where no list of them is. */
  readonly layers: 'all' | 'parallel' | 'periods' | 'indices' | 'pattern' | 'interval' | 'alternating';
  /** Every layer is a mixer or only a feed-forward network. */
  readonly isSingleSublayer?: true;
}

/** Stands for the class of a model type that is not known. */
export const assumedClass = 'the config';

/** Names that classes give their experts; `routedKeys` has those that launchers know too. */
export const anyRoutedKeys = {
  experts: ['num_local_experts', 'num_experts', 'n_routed_experts', 'num_routed_experts', 'moe_num_experts', 'n_experts'],
  activeExperts:
    'num_experts_per_tok experts_per_token num_experts_per_token moe_topk moe_top_k moe_k top_k_experts num_selected_experts'.split(' '),
  expertFfn: ['moe_intermediate_size', 'expert_intermediate_size', 'expert_ffn_hidden_size', 'moe_ffn_hidden_size'],
} as const;

/** Keys of facts in addition to the sizes, the same in every family that has them. */
export const extraKeys: Readonly<Partial<Record<ExtraField & keyof FactValues, readonly string[]>>> = {
  sharedExperts: ['n_shared_experts', 'num_shared_experts', 'moe_num_shared_experts'],
  sharedExpertFfn: ['shared_expert_intermediate_size', 'shared_intermediate_size', 'moe_shared_expert_intermediate_size'],
  expertLatent: ['moe_latent_size'],
  routerGroups: ['n_group', 'n_expert_groups'],
  routerGroupTopk: ['topk_group', 'n_limited_groups'],
  firstDenseLayers: ['first_k_dense_replace', 'num_dense_layers', 'n_dense_layers'],
  decoderSparseStep: ['decoder_sparse_step', 'interleave_moe_layer_step'],
  qLoraRank: ['q_lora_rank'],
  kvLoraRank: ['kv_lora_rank'],
  qkNopeHeadDim: ['qk_nope_head_dim'],
  qkRopeHeadDim: ['qk_rope_head_dim'],
  vHeadDim: ['v_head_dim'],
  mtpLayers: ['num_nextn_predict_layers'],
};

/** Keys of classes whose heads all have keys and values of their own, as BERT's. */
export const bertKeys = {
  layers: ['num_hidden_layers'],
  hidden: ['hidden_size'],
  heads: ['num_attention_heads'],
  ffn: ['intermediate_size'],
  vocab: ['vocab_size'],
  tiedEmbeddings: ['tie_word_embeddings'],
  maxPositions: ['max_position_embeddings'],
} as const;

export const llamaKeys = { ...bertKeys, kvHeads: ['num_key_value_heads'], headDim: ['head_dim'] } as const;

/** Keys of the classes that came after GPT-2's. */
export const gptKeys = {
  layers: ['n_layer', 'num_hidden_layers'],
  hidden: ['n_embd', 'hidden_size'],
  heads: ['n_head', 'num_attention_heads'],
  ffn: ['n_inner'],
  vocab: ['vocab_size'],
  tiedEmbeddings: ['tie_word_embeddings'],
  maxPositions: ['n_positions', 'max_position_embeddings', 'n_ctx'],
} as const;

export const attentionBias = { qkvBias: ['attention_bias'], attentionOutputBias: ['attention_bias'] } as const;
export const routedKeys = {
  experts: ['num_local_experts', 'num_experts', 'n_routed_experts', 'num_routed_experts'],
  activeExperts: ['num_experts_per_tok', 'experts_per_token', 'num_experts_per_token'],
} as const;

export const llamaAlways = { gatedMlp: true, positions: 'rotary', norm: 'rmsnorm', qkNorm: false } as const;
export const gptAlways = { gatedMlp: false, positions: 'learned', norm: 'layernorm', qkNorm: false } as const;
export const rotaryGptAlways = { ...gptAlways, positions: 'rotary' } as const;

export const noBias = { qkvBias: false, attentionOutputBias: false, mlpBias: false } as const;
export const allBias = { qkvBias: true, attentionOutputBias: true, mlpBias: true } as const;
/** Of classes whose embedding and head were apart until transformers 5. */
export const untied = { tiedEmbeddings: false } as const;
/** Every fourth layer attends to the whole sequence, the others to a window. */
export const everyFourthWhole = { period: 4, keys: [], kind: 'sliding_attention' } as const;

/** What a family has in addition to its class; `defaults`: its biases, none unless set, and sizes that are not those of the class. */
type OwnTraits = Omit<Family, 'configClass' | 'defaults'> & { readonly defaults?: Partial<Family['defaults']> };

/** The family of a configuration class, whose sizes `classDefaults` has. */
export function makeFamily(configClass: ClassName, traits: OwnTraits): Family {
  return { ...traits, configClass, defaults: { ...noBias, ...classSizes(configClass), ...traits.defaults } };
}

/** A family like another, of another class: its sizes are those of its own class, its biases and all else as the other's unless set. */
export function deriveFamily({ defaults, ...base }: Family, configClass: ClassName, traits: Partial<OwnTraits> = {}): Family {
  const { qkvBias, attentionOutputBias, mlpBias } = defaults;
  return makeFamily(configClass, { ...base, ...traits, defaults: { qkvBias, attentionOutputBias, mlpBias, ...traits.defaults } });
}

function classSizes(configClass: ClassName): Omit<Family['defaults'], keyof typeof noBias> {
  const row: ClassSizes = classDefaults[configClass];
  const [layers, hidden, heads, kvHeads, headDim, ffn, vocab, maxPositions, tiedEmbeddings, count, active, expertFfn] = row;
  const experts = count === undefined ? {} : { experts: { count, ...(active && { active }), ...(expertFfn && { ffn: expertFfn }) } };
  return {
    layers: layers ?? 1,
    hidden,
    heads: heads ?? 1,
    kvHeads,
    headDim,
    ffn,
    vocab: vocab ?? 0,
    maxPositions,
    tiedEmbeddings,
    ...experts,
  };
}
