import { cohere } from './llama-families';
import { attentionBias, llamaAlways, llamaKeys, tied, variantOf, type Family } from './family';
import { expertFamilies, qwen3Moe, routedOnly } from './expert-families';

const { mixtral } = expertFamilies;
const fourth = { period: 4, keys: [], kind: 'sliding_attention' } as const;
const withBias = { ...mixtral.keys, ...attentionBias } as const;
const ofQueries = { ...routedOnly, qkvBias: ['attention_bias'] } as const;
const named = { experts: ['moe_num_experts'], expertFfn: ['moe_intermediate_size'] } as const;
const granite = variantOf(
  mixtral,
  'GraniteMoeConfig',
  { kvHeads: null, ffn: 11008, maxPositions: 2048 },
  { keys: withBias, window: { when: 'flag', tokens: null } },
);
const glm4Moe = variantOf(
  qwen3Moe,
  'Glm4MoeConfig',
  {
    layers: 46,
    hidden: 4096,
    heads: 96,
    kvHeads: 8,
    ffn: 10944,
    vocab: 151552,
    maxPositions: 131072,
    experts: { count: 128, active: 8, ffn: 1408 },
  },
  { keys: ofQueries, always: llamaAlways, extras: { sharedExperts: 1, firstDenseLayers: 1 } },
);
const olmoe = variantOf(
  mixtral,
  'OlmoeConfig',
  { layers: 16, hidden: 2048, heads: 16, kvHeads: null, ffn: 2048, vocab: 50304, maxPositions: 4096, experts: { count: 64, active: 8 } },
  { keys: withBias, always: { ...llamaAlways, qkNorm: true }, traits: { qkNormAcrossHeads: true } },
);
const ernieMoe = variantOf(
  qwen3Moe,
  'Ernie4_5_MoeConfig',
  {
    layers: 28,
    hidden: 2560,
    heads: 20,
    ffn: 12288,
    vocab: 103424,
    maxPositions: 131072,
    experts: { count: 64, active: 6, ffn: 1536 },
    ...tied,
  },
  {
    keys: {
      ...llamaKeys,
      ...named,
      activeExperts: ['moe_k'],
      qkvBias: ['use_bias'],
      attentionOutputBias: ['use_bias'],
      mlpBias: ['use_bias'],
    },
    always: llamaAlways,
    extras: { sharedExperts: 2 },
    small: ({ experts }) => ({ experts }),
  },
);
/**
 * Families with experts that differ from Mixtral, Qwen 3 and DeepSeek-V3 in sizes, names of keys, norms and biases. Source: configuration
 * and modelling classes of transformers 5.23.
 */
export const expertVariants = {
  afmoe: variantOf(
    qwen3Moe,
    'AfmoeConfig',
    {
      layers: 32,
      heads: 16,
      kvHeads: null,
      headDim: 128,
      vocab: 200192,
      maxPositions: 16384,
      experts: { count: 64, active: 6, ffn: 1408 },
    },
    {
      extras: { sharedExperts: 2, firstDenseLayers: 1 },
      traits: { normsPerLayer: 4, outputGate: true },
      small: ({ experts }) => ({ experts }),
      window: { when: 'always', tokens: 1024 },
      pattern: { ...fourth, keys: ['global_attn_every_n_layers'] },
    },
  ),
  aria_text: variantOf(
    mixtral,
    'AriaTextConfig',
    { kvHeads: null, ffn: 4096, maxPositions: 2048, experts: { count: 8, active: 2 } },
    {
      keys: { ...llamaKeys, ...attentionBias, experts: named.experts, activeExperts: ['moe_topk'] },
      extras: { sharedExperts: 2 },
      window: { when: 'flag', tokens: null },
    },
  ),
  beam: variantOf(
    qwen3Moe,
    'BeamConfig',
    {
      layers: 52,
      hidden: 5120,
      heads: 48,
      kvHeads: 8,
      headDim: 128,
      ffn: 20480,
      maxPositions: 8192,
      experts: { count: 256, active: 8, ffn: 2560 },
    },
    {
      extras: { firstDenseLayers: 3 },
      traits: { normsPerLayer: 4, outputGate: true },
      small: ({ heads }) => ({ attention: heads }),
      window: { when: 'always', tokens: 512 },
    },
  ),
  cohere2_moe: variantOf(
    cohere,
    'Cohere2MoeConfig',
    { headDim: 128, ffn: null, experts: { count: 8, active: 2, ffn: 22528 } },
    {
      keys: { ...llamaKeys, ...attentionBias, ...mixtral.keys, ffn: ['prefix_dense_intermediate_size'], expertFfn: ['intermediate_size'] },
      window: { when: 'always', tokens: 4096 },
      pattern: fourth,
      extras: { sharedExperts: 0 },
    },
  ),
  dots1: variantOf(
    qwen3Moe,
    'Dots1Config',
    {
      layers: 62,
      hidden: 4608,
      kvHeads: 32,
      ffn: 10944,
      vocab: 152064,
      maxPositions: 2048,
      experts: { count: 128, active: 6, ffn: 1408 },
    },
    { assumedFields: ['experts', 'activeExperts'], extras: {} },
  ),
  ernie4_5_moe: ernieMoe,
  exaone_moe: variantOf(
    qwen3Moe,
    'ExaoneMoeConfig',
    {
      layers: 32,
      hidden: 4096,
      kvHeads: 32,
      ffn: 16384,
      vocab: 102400,
      maxPositions: 2048,
      experts: { count: 64, active: 8, ffn: 1024 },
    },
    {
      keys: routedOnly,
      extras: { sharedExperts: 1, firstDenseLayers: 1 },
      window: { when: 'always', tokens: 4096 },
      pattern: fourth,
    },
  ),
  flex_olmo: variantOf(olmoe, 'FlexOlmoConfig', {
    layers: 32,
    hidden: 4096,
    heads: 32,
    ffn: 11008,
    vocab: 100352,
    experts: { count: 7, active: 5 },
  }),
  flint: variantOf(
    qwen3Moe,
    'FlintConfig',
    { layers: 49, headDim: 128, vocab: 150144, maxPositions: 262144, experts: { count: 256, active: 6, ffn: 512 } },
    {
      extras: { decoderSparseStep: 1, sharedExpertFfn: 1024, firstDenseLayers: 2 },
      traits: { attentionSinks: true },
      window: { when: 'always', tokens: 513 },
    },
  ),
  glm4_moe: glm4Moe,
  glm4v_moe_text: variantOf(glm4Moe, 'Glm4vMoeTextConfig', { vocab: 151424, maxPositions: 65536, qkvBias: true }),
  granitemoe: granite,
  granitemoeshared: variantOf(granite, 'GraniteMoeSharedConfig', {}),
  granitemoe_swa: variantOf(
    granite,
    'GraniteMoeSWAConfig',
    {},
    { traits: { attentionSinks: true }, window: { when: 'always', tokens: 128 }, pattern: fourth },
  ),
  hunyuan_v1_moe: variantOf(
    mixtral,
    'HunYuanMoEV1Config',
    { kvHeads: null, ffn: 11008, vocab: 290943, maxPositions: 2048, experts: { count: 1, active: 1 } },
    { keys: withBias, always: { ...llamaAlways, qkNorm: true }, extras: { sharedExperts: 1 }, window: { when: 'flag', tokens: null } },
  ),
  hy_v3: variantOf(
    qwen3Moe,
    'HYV3Config',
    {
      layers: 80,
      hidden: 4096,
      heads: 64,
      kvHeads: 8,
      headDim: 128,
      ffn: 13312,
      vocab: 120832,
      maxPositions: 131072,
      experts: { count: 192, active: 8, ffn: 1536 },
    },
    { extras: { sharedExperts: 1, firstDenseLayers: 1 } },
  ),
  kolibri1: variantOf(
    qwen3Moe,
    'Kolibri1Config',
    {
      layers: 50,
      hidden: 2560,
      heads: 48,
      headDim: 128,
      ffn: null,
      vocab: 128000,
      maxPositions: 262144,
      experts: { count: 384, active: 6, ffn: 512 },
    },
    { extras: { sharedExpertFfn: 512 }, traits: { normsPerLayer: 4 }, window: { when: 'always', tokens: 513 } },
  ),
  mellum: variantOf(
    qwen3Moe,
    'MellumConfig',
    {
      layers: 28,
      hidden: 2304,
      headDim: 128,
      ffn: 7168,
      vocab: 98304,
      maxPositions: 131072,
      experts: { count: 64, active: 8, ffn: 896 },
    },
    { extras: {}, window: { when: 'always', tokens: 1024 } },
  ),
  minimax_m2: variantOf(
    mixtral,
    'MiniMaxM2Config',
    {
      layers: 62,
      hidden: 3072,
      heads: 48,
      headDim: 128,
      ffn: 1536,
      vocab: 200064,
      maxPositions: 196608,
      experts: { count: 256, active: 8 },
    },
    { always: { ...llamaAlways, qkNorm: true }, traits: { qkNormAcrossHeads: true }, window: { when: 'flag', tokens: null } },
  ),
  minimax_m3_vl_text: variantOf(
    mixtral,
    'MiniMaxM3VLTextConfig',
    {
      layers: 60,
      hidden: 6144,
      heads: 64,
      kvHeads: 4,
      headDim: 128,
      ffn: 12288,
      vocab: 200064,
      maxPositions: 524288,
      experts: { count: 128, active: 4, ffn: 3072 },
    },
    {
      keys: { ...mixtral.keys, ffn: ['dense_intermediate_size'], expertFfn: ['intermediate_size'] },
      always: { ...llamaAlways, qkNorm: true },
      extras: { sharedExpertFfn: 3072 },
      window: { when: 'flag', tokens: null },
    },
  ),
  olmoe,
  phimoe: variantOf(
    mixtral,
    'PhimoeConfig',
    { ffn: 6400, vocab: 32064, experts: { count: 16, active: 2 } },
    { keys: withBias, always: { ...llamaAlways, norm: 'layernorm' } },
  ),
  qwen3_omni_moe_text: variantOf(
    qwen3Moe,
    'Qwen3OmniMoeTextConfig',
    { layers: 28, heads: 28, ffn: 18944, vocab: 3584 },
    { window: { when: 'flag', tokens: null } },
  ),
  solar_open: variantOf(
    qwen3Moe,
    'SolarOpenConfig',
    {
      layers: 48,
      hidden: 4096,
      heads: 64,
      kvHeads: 8,
      headDim: 128,
      ffn: null,
      vocab: 196608,
      maxPositions: 131072,
      experts: { count: 128, active: 8, ffn: 1280 },
    },
    { always: llamaAlways, extras: { sharedExperts: 1 } },
  ),
} as const satisfies Readonly<Record<string, Family>>;
