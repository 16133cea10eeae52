import {
  attentionBias,
  bertKeys,
  llamaAlways,
  llamaKeys,
  makeFamily,
  routedKeys,
  deriveFamily,
  type Family,
  type StateFamily,
} from './family';
import { sentence } from '../sentence';

/** A model of only Mamba layers has no heads of attention: one stands for them. */
const attentionFree = { heads: 1, kvHeads: 1, headDim: 1, ffn: 1 } as const;
const bareKeys = {
  layers: [...bertKeys.layers, 'n_layer'],
  hidden: [...bertKeys.hidden, 'd_model'],
  vocab: bertKeys.vocab,
  tiedEmbeddings: bertKeys.tiedEmbeddings,
} as const;
const unpositioned = { ...llamaAlways, positions: 'none' } as const;

const mambaState = {
  kind: 'mamba',
  keys: {
    stateDim: ['state_size'],
    convolution: ['conv_kernel'],
    expand: ['expand'],
    inner: ['intermediate_size'],
    stepRank: ['time_step_rank'],
  },
  defaults: { stateDim: 16, convolution: 4, expand: 2 },
  convolutionBias: { key: 'use_conv_bias', otherwise: true },
  projectionBias: { key: 'use_bias', otherwise: false },
  norm: 'none',
  chunk: { otherwise: 2048 },
  layers: 'all',
} as const satisfies StateFamily;

const mamba: Family = makeFamily('MambaConfig', {
  keys: bareKeys,
  defaults: attentionFree,
  always: { ...unpositioned, gatedMlp: false },
  assumedFields: ['heads', 'kvHeads', 'headDim', 'ffn'],
  state: { ...mambaState, isSingleSublayer: true },
});

/** Keys that the Mamba-2 mixers of hybrids share. */
const hybridState = {
  kind: 'mamba2',
  keys: {
    heads: ['mamba_n_heads'],
    headDim: ['mamba_d_head'],
    stateDim: ['mamba_d_state'],
    groups: ['mamba_n_groups'],
    convolution: ['mamba_d_conv'],
    expand: ['mamba_expand'],
  },
  defaults: { heads: 128, stateDim: 256, groups: 1, convolution: 4, expand: 2 },
  convolutionBias: { key: 'mamba_conv_bias', otherwise: true },
  projectionBias: { key: 'mamba_proj_bias', otherwise: false },
  norm: 'values',
  chunk: { key: 'mamba_chunk_size', otherwise: 256 },
} as const satisfies Omit<StateFamily, 'layers'>;

const shared = sentence`blocks that several layers share would lie on several stages at once`;

const deltaState = {
  kind: 'gated-delta-net',
  keys: {
    heads: ['linear_num_value_heads'],
    headDim: ['linear_value_head_dim'],
    stateDim: ['linear_key_head_dim'],
    groups: ['linear_num_key_heads'],
    convolution: ['linear_conv_kernel_dim'],
  },
  defaults: { heads: 32, headDim: 128, stateDim: 128, groups: 16, convolution: 4 },
  norm: 'head',
  chunk: { otherwise: 64 },
  layers: 'interval',
} as const satisfies StateFamily;

const qwen35: Family = makeFamily('Qwen3_5TextConfig', {
  keys: { ...llamaKeys, ...attentionBias },
  always: { ...llamaAlways, qkNorm: true },
  traits: { outputGate: true },
  state: deltaState,
});

/** Families whose layers hand on a state. Source: configuration and modelling classes of transformers 5.23. */
export const stateFamilies = {
  mamba,
  falcon_mamba: deriveFamily(mamba, 'FalconMambaConfig', { defaults: attentionFree }),
  mamba2: deriveFamily(mamba, 'Mamba2Config', {
    defaults: attentionFree,
    state: {
      kind: 'mamba2',
      keys: {
        heads: ['num_heads'],
        headDim: ['head_dim'],
        stateDim: ['state_size'],
        groups: ['n_groups'],
        convolution: ['conv_kernel'],
        expand: ['expand'],
      },
      defaults: { heads: 128, headDim: 64, stateDim: 128, groups: 8, convolution: 4, expand: 2 },
      convolutionBias: { key: 'use_conv_bias', otherwise: true },
      projectionBias: { key: 'use_bias', otherwise: false },
      norm: 'values',
      chunk: { key: 'chunk_size', otherwise: 256 },
      layers: 'all',
      isSingleSublayer: true,
    },
  }),
  jamba: makeFamily('JambaConfig', {
    keys: { ...llamaKeys, ...routedKeys },
    always: unpositioned,
    state: {
      ...mambaState,
      keys: { stateDim: ['mamba_d_state'], convolution: ['mamba_d_conv'], expand: ['mamba_expand'], stepRank: ['mamba_dt_rank'] },
      convolutionBias: { key: 'mamba_conv_bias', otherwise: true },
      projectionBias: { key: 'mamba_proj_bias', otherwise: false },
      norm: 'steps',
      layers: 'periods',
    },
  }),
  bamba: makeFamily('BambaConfig', {
    keys: { ...llamaKeys, ...attentionBias, mlpBias: ['mlp_bias'] },
    always: llamaAlways,
    state: { ...hybridState, layers: 'indices' },
  }),
  falcon_h1: makeFamily('FalconH1Config', {
    keys: { ...llamaKeys, ...attentionBias, mlpBias: ['mlp_bias'] },
    always: llamaAlways,
    state: {
      ...hybridState,
      keys: { ...hybridState.keys, inner: ['mamba_d_ssm'] },
      defaults: { ...hybridState.defaults, inner: 1024 },
      norm: { key: 'mamba_rms_norm' },
      layers: 'parallel',
    },
  }),
  granitemoehybrid: makeFamily('GraniteMoeHybridConfig', {
    keys: { ...llamaKeys, ...routedKeys, ...attentionBias },
    always: unpositioned,
    extras: { sharedExpertFfn: 1024 },
    state: { ...hybridState, layers: 'all' },
  }),
  nemotron_h: makeFamily('NemotronHConfig', {
    // the class lists four layers instead of counting them
    defaults: { layers: 4 },
    keys: { ...llamaKeys, ...routedKeys, expertFfn: ['moe_intermediate_size'] },
    always: { ...unpositioned, gatedMlp: false },
    extras: { sharedExpertFfn: 7688 },
    state: {
      kind: 'mamba2',
      keys: {
        heads: ['mamba_num_heads'],
        headDim: ['mamba_head_dim'],
        stateDim: ['ssm_state_size'],
        groups: ['mamba_n_groups', 'n_groups'],
        convolution: ['mamba_d_conv', 'conv_kernel'],
      },
      defaults: { heads: 128, headDim: 64, stateDim: 128, groups: 8, convolution: 4 },
      convolutionBias: { key: 'use_conv_bias', otherwise: true },
      projectionBias: { key: 'use_bias', otherwise: false },
      norm: 'values',
      chunk: { key: 'chunk_size', otherwise: 128 },
      layers: 'pattern',
      isSingleSublayer: true,
    },
  }),
  qwen3_next: makeFamily('Qwen3NextConfig', {
    keys: { ...llamaKeys, ...routedKeys, ...attentionBias, expertFfn: ['moe_intermediate_size'] },
    always: { ...llamaAlways, qkNorm: true },
    extras: { decoderSparseStep: 1, sharedExpertFfn: 512 },
    traits: { experts: { sharedGate: true }, outputGate: true },
    state: deltaState,
  }),
  qwen3_5_text: qwen35,
  qwen3_5_moe_text: deriveFamily(qwen35, 'Qwen3_5MoeTextConfig', {
    keys: { ...llamaKeys, ...routedKeys, ...attentionBias, expertFfn: ['moe_intermediate_size'] },
    extras: { sharedExpertFfn: 512 },
    traits: { experts: { sharedGate: true }, outputGate: true },
  }),
  olmo_hybrid: deriveFamily(qwen35, 'OlmoHybridConfig', {
    traits: { qkNormAcrossHeads: true },
    state: { ...deltaState, defaults: { heads: 30, headDim: 192, stateDim: 96, groups: 30, convolution: 4 } },
  }),
  minimax: makeFamily('MiniMaxConfig', {
    keys: { ...llamaKeys, ...routedKeys },
    always: llamaAlways,
    state: {
      kind: 'lightning',
      keys: {},
      defaults: {},
      norm: 'values',
      chunk: { key: 'block_size', otherwise: 256 },
      layers: 'alternating',
    },
  }),
  // the class computes the size of a head: twice the hidden size over the heads
  zamba: makeFamily('ZambaConfig', { defaults: { headDim: 464 }, keys: bertKeys, always: llamaAlways, unplanned: shared }),
  zamba2: makeFamily('Zamba2Config', { defaults: { headDim: 160 }, keys: bertKeys, always: llamaAlways, unplanned: shared }),
  rwkv: makeFamily('RwkvConfig', {
    defaults: { ...attentionFree, ffn: null },
    keys: { ...bareKeys, ffn: bertKeys.ffn, maxPositions: ['context_length'] },
    always: { gatedMlp: false, positions: 'none', norm: 'layernorm', qkNorm: false },
    unplanned: sentence`no launcher is known that trains its layers on a pipeline`,
  }),
} as const satisfies Readonly<Record<string, Family>>;
