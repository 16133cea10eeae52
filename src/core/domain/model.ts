import type { ModelDetails } from './settings/model-details';

/** Multi-head latent attention (DeepSeek-V2, section 2.1): ranks of the compressed queries and of keys and values, and head sizes. */
export interface LatentAttention {
  /** null: queries are not compressed. */
  readonly qRank: number | null;
  readonly kvRank: number;
  readonly nopeHeadDim: number;
  readonly ropeHeadDim: number;
  readonly vHeadDim: number;
}

/** What distinguishes one layer of a model from another. */
export interface LayerKind {
  /** `dense`: one network for all tokens, though other layers have experts. `none`: the layer only mixes tokens. */
  readonly feedForward: 'dense' | 'experts' | 'none';
  /** A token attends to this many tokens up to and including itself; null: to all earlier ones. */
  readonly window: number | null;
  /**
   * Of an encoder-decoder model: every token of the source attends to all others, or the target attends to its earlier tokens and to the
   * encoder's output. Absent: only a decoder.
   */
  readonly stack?: Stack;
  /** Absent: attention. */
  readonly mixer?: Mixer;
}

/** The halves of an encoder-decoder model. */
export type Stack = 'encoder' | 'decoder';

/** What an encoder-decoder model has in addition to the sizes of its encoder, which are the model's own. */
export interface Stacks {
  /** Of the model's layers, this many first ones. */
  readonly encoderLayers: number;
  /** Heads and feed-forward width of the decoder; absent: as the encoder's. */
  readonly decoderHeads?: number;
  readonly decoderFfn?: number;
  /** Longest source that the positions allow; null: no limit. */
  readonly maxSourcePositions: number | null;
  /**
   * Learned positions of the source: in the decoder's table (Megatron-LM's T5), in one of their own (BART), or not learned (Whisper). Means
   * nothing where the model learns none.
   */
  readonly sourcePositions: 'shared' | 'own' | 'none';
  /** Both stacks end in a norm. */
  readonly finalNorms: boolean;
  /**
   * Learned bias of attention scores inside a stack by distance: one number a bucket and head, in the first layer of each stack for all of
   * them (T5), or in every layer (UMT5).
   */
  readonly relativeBias?: { readonly buckets: number; readonly everyLayer: boolean };
  /**
   * The source is sound: two convolutions of width 3, the second with stride 2, over spectra of this many bins take the place of the
   * embedding (Whisper).
   */
  readonly melBins?: number;
  /** Keys have no bias though queries and values have (Whisper). */
  readonly keyBias?: false;
}

/**
 * What carries something from token to token in a layer: attention, a state of fixed size (the model's `state`), both side by side on one
 * input, or nothing (the layer is only a feed-forward network).
 */
export type Mixer = 'attention' | 'state' | 'both' | 'none';

/**
 * Kinds of mixers with a state: Mamba (arXiv 2312.00752), Mamba-2 (2405.21060), Gated DeltaNet (2412.06464), lightning attention
 * (2405.17381), RG-LRU (2402.19427), minGRU and minLSTM (2410.01201).
 */
export const stateKinds = ['mamba', 'mamba2', 'gated-delta-net', 'lightning', 'rg-lru', 'min-gru', 'min-lstm'] as const;
export type StateKind = (typeof stateKinds)[number];

/** Those that keep one number for each value, which gates decay and update: recurrent networks that a scan runs in parallel. */
export type RecurrentKind = 'rg-lru' | 'min-gru' | 'min-lstm';

/** Sizes of the mixers with a state; all of a model are alike. Widths in elements. */
export interface StateMixer {
  readonly kind: StateKind;
  /** Heads of values, each with a state of `stateDim` x `headDim`. Mamba has one for every channel. */
  readonly heads: number;
  readonly headDim: number;
  /** State size of Mamba; size of a key head of the others. */
  readonly stateDim: number;
  /** Heads share the pair by which a state is written and read (B and C of Mamba, key and query of the others): this many pairs. */
  readonly groups: number;
  /** Tokens that the causal convolution before it spans; 0: there is none. */
  readonly convolution: number;
  /** Tokens that its kernels work on at once. */
  readonly chunk: number;
  /** Rank of the step size (only Mamba). */
  readonly stepRank?: number;
  readonly convolutionBias: boolean;
  readonly projectionBias: boolean;
  /** Of the norms inside the mixer. */
  readonly normParameters: number;
}

/** Networks between which a router chooses for each token. */
export interface Experts {
  readonly count: number;
  /** How many a token visits: 1 <= active <= count. */
  readonly active: number;
  /** Width that tokens are projected to before they are sent, and back from after (Megatron's `--moe-latent-size`); absent: hidden. */
  readonly latent?: number;
  /** Width of the networks that every token visits in addition to them, together; 0 or absent: none. */
  readonly sharedFfn?: number;
  /** The shared ones are weighed by a gate of one column (Qwen2-MoE). */
  readonly sharedGate?: boolean;
  /** Experts are in this many groups, and a token visits experts of this many groups (DeepSeek-V3); absent: any. */
  readonly groups?: { readonly count: number; readonly active: number };
  /** The router adds a bias to its scores (gpt-oss). */
  readonly routerBias?: boolean;
}

/**
 * Small parameters of a family beyond the norms and biases that all families share, elements: of each layer, of each attention, of each
 * network with experts, and of the model as a whole. Tensor parallelism does not divide them.
 */
export interface SmallParameters {
  readonly layer?: number;
  readonly attention?: number;
  readonly experts?: number;
  readonly model?: number;
}

/** Numbers of a scaling of rotary positions; which of them a kind has is the kind's. */
export const ropeScalingSizes = [
  'factor',
  'lowFrequencyFactor',
  'highFrequencyFactor',
  'originalPositions',
  'betaFast',
  'betaSlow',
  'mscale',
  'mscaleAllDim',
  'attentionFactor',
] as const;

/** How rotary positions are stretched, by the names of Transformers: `linear`, `dynamic`, `yarn`, `longrope`, `llama3`. */
export interface RopeScaling extends Readonly<Partial<Record<(typeof ropeScalingSizes)[number], number>>> {
  readonly kind: string;
  /** The ends of yarn's range are not rounded (gpt-oss). */
  readonly isUnrounded?: true;
}

/** Rotary positions beyond their kind; absent: the files do not give it. Neither time nor memory depends on them. */
export interface Rotary {
  /** Base of the frequencies (`rope_theta`). */
  readonly base?: number;
  /** Share of a head that is rotated. */
  readonly share?: number;
  readonly scaling?: RopeScaling;
}

/**
 * A decoder-only or encoder-decoder Transformer as planning sees it: sizes, nothing of any framework. Lengths in tokens, widths in
 * elements.
 */
export interface ModelSpec {
  /** As the file calls it (`gpt2`, `llama`, ...), or `custom` for numbers given inline. */
  readonly modelType: string;
  /** Of encoder and decoder together, the encoder's first. */
  readonly layers: number;
  readonly hidden: number;
  readonly heads: number;
  /** Key/value heads; equal to `heads` without grouped-query attention. */
  readonly kvHeads: number;
  readonly headDim: number;
  /** Feed-forward width, of one matrix; of one expert when there are experts. */
  readonly ffn: number;
  /** Two up projections (gate and up), as SwiGLU has. */
  readonly gatedMlp: boolean;
  /** 0: the model has neither embedding nor head (as TeraPipe's own benchmark). */
  readonly vocab: number;
  readonly tiedEmbeddings: boolean;
  /** Longest sequence the positions allow; null when the file does not limit it. */
  readonly maxPositions: number | null;
  /** Learned position table (adds parameters) or rotary (adds none). */
  readonly positions: 'learned' | 'rotary' | 'none';
  /** LayerNorm has weight and bias, RMSNorm only weight. */
  readonly norm: 'layernorm' | 'rmsnorm';
  readonly qkvBias: boolean;
  readonly attentionOutputBias: boolean;
  readonly mlpBias: boolean;
  /** Per-head RMSNorm of q and k (qwen3). */
  readonly qkNorm: boolean;
  /** Norms of a layer: 2 unless given. Gemma 2 and 3 have 4 (also after attention and feed-forward), Cohere 1 for both. */
  readonly normsPerLayer?: number;
  /**
   * Norms have no bias though they are LayerNorms (Cohere), or nothing to learn (OLMo): parameters per element of a norm; absent: those
   * of `norm`.
   */
  readonly normParameters?: 0 | 1;
  /** The norms of q and k span all heads (OLMo 2), not one. */
  readonly qkNormAcrossHeads?: boolean;
  /** The head has a bias of one element a word (GPT-J, Phi). */
  readonly headBias?: boolean;
  /** Rows of the position table that no position uses (OPT has 2). */
  readonly unusedPositions?: number;
  /** The embedding is normed (BLOOM). */
  readonly embeddingNorm?: boolean;
  /** One learned attention sink per head (gpt-oss). */
  readonly attentionSinks?: boolean;
  /**
   * Feed-forward networks between which a router chooses for each token (1 <= active <= count). The router is one matrix hidden x count.
   * null: dense, one network for all tokens.
   */
  readonly experts: Experts | null;
  /** Feed-forward width of the dense layers of a model with experts; absent: as `ffn`. */
  readonly denseFfn?: number;
  /** Latent attention; then `kvHeads` and `headDim` mean nothing. Absent or null: heads as given. */
  readonly latent?: LatentAttention | null;
  /** Depths of multi-token prediction in training; absent: none. */
  readonly mtpLayers?: number;
  /** One per layer, from the first; absent: all alike, with experts if the model has them, and attending to all earlier tokens. */
  readonly layerKinds?: readonly LayerKind[];
  /** An encoder and a decoder that attends to its output; absent: only a decoder. */
  readonly stacks?: Stacks;
  /** What the layers have whose mixer is or has a state; absent: all layers attend. */
  readonly state?: StateMixer;
  /** The output of attention is weighed by a gate as wide, projected with the queries (Qwen3-Next). */
  readonly outputGate?: boolean;
  /** Absent: the files give nothing of it. */
  readonly rotary?: Rotary;
  /** Added to the variance in the norms; absent: the files do not give it. */
  readonly normEpsilon?: number;
  /** Absent: the files give nothing of it. */
  readonly details?: ModelDetails;
  /** Absent: none. */
  readonly smallParameters?: SmallParameters;
}
