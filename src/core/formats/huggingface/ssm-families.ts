import { attentionBias, bertKeys, llamaAlways, llamaKeys, noBias, routedKeys, tied, untied, type Family, type StateFamily } from './family';

/** A model of Mamba layers alone has no heads of attention: one stands for them. */
const attentionFree = { heads: 1, kvHeads: 1, headDim: 1, ffn: 1, maxPositions: null, ...noBias } as const;
const bareKeys = {
  layers: bertKeys.layers,
  hidden: bertKeys.hidden,
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

const mamba: Family = {
  configClass: 'MambaConfig',
  keys: bareKeys,
  defaults: { ...attentionFree, layers: 32, hidden: 768, vocab: 50280, ...tied },
  always: { ...unpositioned, gatedMlp: false },
  unsaid: ['heads', 'kvHeads', 'headDim', 'ffn'],
  state: { ...mambaState, isLone: true },
};

/** Keys that the Mamba-2 mixers of hybrids share. */
const hybridState = {
  kind: 'mamba2',
  keys: {
    ...{ heads: ['mamba_n_heads'], headDim: ['mamba_d_head'], stateDim: ['mamba_d_state'], groups: ['mamba_n_groups'] },
    ...{ convolution: ['mamba_d_conv'], expand: ['mamba_expand'] },
  },
  defaults: { heads: 128, stateDim: 256, groups: 1, convolution: 4, expand: 2 },
  convolutionBias: { key: 'mamba_conv_bias', otherwise: true },
  projectionBias: { key: 'mamba_proj_bias', otherwise: false },
  norm: 'values',
  chunk: { key: 'mamba_chunk_size', otherwise: 256 },
} as const satisfies Omit<StateFamily, 'layers'>;

const shared = 'blocks that several layers share would lie on several stages at once';

/** Families whose layers hand on a state. Source: configuration and modelling classes of transformers 5.23. */
export const stateFamilies = {
  mamba,
  falcon_mamba: { ...mamba, configClass: 'FalconMambaConfig' },
  mamba2: {
    ...mamba,
    configClass: 'Mamba2Config',
    defaults: { ...attentionFree, layers: 64, hidden: 4096, vocab: 32768, ...untied },
    state: {
      kind: 'mamba2',
      keys: {
        ...{ heads: ['num_heads'], headDim: ['head_dim'], stateDim: ['state_size'], groups: ['n_groups'] },
        ...{ convolution: ['conv_kernel'], expand: ['expand'] },
      },
      defaults: { heads: 128, headDim: 64, stateDim: 128, groups: 8, convolution: 4, expand: 2 },
      convolutionBias: { key: 'use_conv_bias', otherwise: true },
      projectionBias: { key: 'use_bias', otherwise: false },
      norm: 'values',
      chunk: { key: 'chunk_size', otherwise: 256 },
      layers: 'all',
      isLone: true,
    },
  },
  jamba: {
    configClass: 'JambaConfig',
    keys: { ...llamaKeys, ...routedKeys },
    defaults: {
      ...{ layers: 32, hidden: 4096, heads: 32, kvHeads: 8, headDim: null, ffn: 14336, vocab: 65536, maxPositions: 262144 },
      experts: { count: 16, active: 2 },
      ...untied,
      ...noBias,
    },
    always: unpositioned,
    state: {
      ...mambaState,
      keys: { stateDim: ['mamba_d_state'], convolution: ['mamba_d_conv'], expand: ['mamba_expand'], stepRank: ['mamba_dt_rank'] },
      convolutionBias: { key: 'mamba_conv_bias', otherwise: true },
      projectionBias: { key: 'mamba_proj_bias', otherwise: false },
      norm: 'steps',
      layers: 'periods',
    },
  },
  bamba: {
    configClass: 'BambaConfig',
    keys: { ...llamaKeys, ...attentionBias, mlpBias: ['mlp_bias'] },
    defaults: {
      ...{ layers: 32, hidden: 4096, heads: 32, kvHeads: 8, headDim: null, ffn: 14336, vocab: 128000, maxPositions: 262144 },
      ...untied,
      ...noBias,
    },
    always: llamaAlways,
    state: { ...hybridState, layers: 'indices' },
  },
  falcon_h1: {
    configClass: 'FalconH1Config',
    keys: { ...llamaKeys, ...attentionBias, mlpBias: ['mlp_bias'] },
    defaults: {
      ...{ layers: 32, hidden: 4096, heads: 32, kvHeads: 8, headDim: null, ffn: 14336, vocab: 128000, maxPositions: 8192 },
      ...untied,
      ...noBias,
    },
    always: llamaAlways,
    state: {
      ...hybridState,
      keys: { ...hybridState.keys, inner: ['mamba_d_ssm'] },
      defaults: { ...hybridState.defaults, inner: 1024 },
      norm: { key: 'mamba_rms_norm' },
      layers: 'parallel',
    },
  },
  granitemoehybrid: {
    configClass: 'GraniteMoeHybridConfig',
    keys: { ...llamaKeys, ...routedKeys, ...attentionBias },
    defaults: {
      ...{ layers: 32, hidden: 4096, heads: 32, kvHeads: null, headDim: null, ffn: 11008, vocab: 32000, maxPositions: 2048 },
      experts: { count: 8, active: 2 },
      ...untied,
      ...noBias,
    },
    always: unpositioned,
    extras: { sharedExpertFfn: 1024 },
    state: { ...hybridState, layers: 'all' },
  },
  nemotron_h: {
    configClass: 'NemotronHConfig',
    keys: { ...llamaKeys, ...routedKeys, expertFfn: ['moe_intermediate_size'] },
    defaults: {
      ...{ layers: 4, hidden: 4096, heads: 32, kvHeads: 8, headDim: 128, ffn: 21504, vocab: 131072, maxPositions: 4096 },
      experts: { count: 8, active: 2, ffn: 7688 },
      ...untied,
      ...noBias,
    },
    always: { ...unpositioned, gatedMlp: false },
    extras: { sharedExpertFfn: 7688 },
    state: {
      kind: 'mamba2',
      keys: {
        ...{
          heads: ['mamba_num_heads'],
          headDim: ['mamba_head_dim'],
          stateDim: ['ssm_state_size'],
          groups: ['mamba_n_groups', 'n_groups'],
        },
        convolution: ['mamba_d_conv', 'conv_kernel'],
      },
      defaults: { heads: 128, headDim: 64, stateDim: 128, groups: 8, convolution: 4 },
      convolutionBias: { key: 'use_conv_bias', otherwise: true },
      projectionBias: { key: 'use_bias', otherwise: false },
      norm: 'values',
      chunk: { key: 'chunk_size', otherwise: 128 },
      layers: 'pattern',
      isLone: true,
    },
  },
  qwen3_next: {
    configClass: 'Qwen3NextConfig',
    keys: { ...llamaKeys, ...routedKeys, ...attentionBias, expertFfn: ['moe_intermediate_size'] },
    defaults: {
      ...{ layers: 48, hidden: 2048, heads: 16, kvHeads: 2, headDim: 256, ffn: 5632, vocab: 151936, maxPositions: 32768 },
      experts: { count: 512, active: 10, ffn: 512 },
      ...untied,
      ...noBias,
    },
    always: { ...llamaAlways, qkNorm: true },
    extras: { decoderSparseStep: 1, sharedExpertFfn: 512 },
    traits: { experts: { sharedGate: true }, outputGate: true },
    state: {
      kind: 'gated-delta-net',
      keys: {
        ...{ heads: ['linear_num_value_heads'], headDim: ['linear_value_head_dim'], stateDim: ['linear_key_head_dim'] },
        ...{ groups: ['linear_num_key_heads'], convolution: ['linear_conv_kernel_dim'] },
      },
      defaults: { heads: 32, headDim: 128, stateDim: 128, groups: 16, convolution: 4 },
      norm: 'head',
      chunk: { otherwise: 64 },
      layers: 'interval',
    },
  },
  minimax: {
    configClass: 'MiniMaxConfig',
    keys: { ...llamaKeys, ...routedKeys },
    defaults: {
      ...{ layers: 32, hidden: 4096, heads: 32, kvHeads: 8, headDim: null, ffn: 14336, vocab: 32000, maxPositions: 131072 },
      experts: { count: 8, active: 2 },
      ...untied,
      ...noBias,
    },
    always: llamaAlways,
    state: {
      kind: 'lightning',
      keys: {},
      defaults: {},
      norm: 'values',
      chunk: { key: 'block_size', otherwise: 256 },
      layers: 'alternating',
    },
  },
  zamba: {
    configClass: 'ZambaConfig',
    keys: bertKeys,
    defaults: {
      ...{ layers: 76, hidden: 3712, heads: 16, kvHeads: 16, headDim: 464, ffn: 14848, vocab: 32000, maxPositions: 4096 },
      ...tied,
      ...noBias,
    },
    always: llamaAlways,
    unplanned: shared,
  },
  zamba2: {
    configClass: 'Zamba2Config',
    keys: bertKeys,
    defaults: {
      ...{ layers: 54, hidden: 2560, heads: 32, kvHeads: null, headDim: 160, ffn: null, vocab: 32000, maxPositions: 4096 },
      ...tied,
      ...noBias,
    },
    always: llamaAlways,
    unplanned: shared,
  },
  rwkv: {
    configClass: 'RwkvConfig',
    keys: { ...bareKeys, ffn: bertKeys.ffn, maxPositions: ['context_length'] },
    defaults: { ...attentionFree, layers: 32, hidden: 4096, vocab: 50277, maxPositions: 1024, ffn: null, ...untied },
    always: { gatedMlp: false, positions: 'none', norm: 'layernorm', qkNorm: false },
    unplanned: 'no launcher is known that trains its layers on a pipeline',
  },
} as const satisfies Readonly<Record<string, Family>>;
