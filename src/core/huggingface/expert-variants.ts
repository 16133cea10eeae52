import { cohere } from './llama-families';
import { attentionBias, llamaAlways, llamaKeys, deriveFamily, type Family } from './family';
import { expertFamilies, qwen3Moe, routedOnly } from './expert-families';

const { mixtral } = expertFamilies;
const fourth = { period: 4, keys: [], kind: 'sliding_attention' } as const;
const withBias = { ...mixtral.keys, ...attentionBias } as const;
const ofQueries = { ...routedOnly, qkvBias: ['attention_bias'] } as const;
const named = { experts: ['moe_num_experts'], expertFfn: ['moe_intermediate_size'] } as const;
const granite = deriveFamily(mixtral, 'GraniteMoeConfig', { keys: withBias, window: { when: 'flag', tokens: null } });
const glm4Moe = deriveFamily(qwen3Moe, 'Glm4MoeConfig', {
  keys: ofQueries,
  always: llamaAlways,
  extras: { sharedExperts: 1, firstDenseLayers: 1 },
});
const olmoe = deriveFamily(mixtral, 'OlmoeConfig', {
  keys: withBias,
  always: { ...llamaAlways, qkNorm: true },
  traits: { qkNormAcrossHeads: true },
});
const ernieMoe = deriveFamily(qwen3Moe, 'Ernie4_5_MoeConfig', {
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
});
/**
 * Families with experts that differ from Mixtral, Qwen 3 and DeepSeek-V3 in sizes, names of keys, norms and biases. Source: configuration
 * and modelling classes of transformers 5.23.
 */
export const expertVariants = {
  afmoe: deriveFamily(qwen3Moe, 'AfmoeConfig', {
    extras: { sharedExperts: 2, firstDenseLayers: 1 },
    traits: { normsPerLayer: 4, outputGate: true },
    small: ({ experts }) => ({ experts }),
    window: { when: 'always', tokens: 1024 },
    pattern: { ...fourth, keys: ['global_attn_every_n_layers'] },
  }),
  aria_text: deriveFamily(mixtral, 'AriaTextConfig', {
    keys: { ...llamaKeys, ...attentionBias, experts: named.experts, activeExperts: ['moe_topk'] },
    extras: { sharedExperts: 2 },
    window: { when: 'flag', tokens: null },
  }),
  beam: deriveFamily(qwen3Moe, 'BeamConfig', {
    extras: { firstDenseLayers: 3 },
    traits: { normsPerLayer: 4, outputGate: true },
    small: ({ heads }) => ({ attention: heads }),
    window: { when: 'always', tokens: 512 },
  }),
  cohere2_moe: deriveFamily(cohere, 'Cohere2MoeConfig', {
    keys: { ...llamaKeys, ...attentionBias, ...mixtral.keys, ffn: ['prefix_dense_intermediate_size'], expertFfn: ['intermediate_size'] },
    window: { when: 'always', tokens: 4096 },
    pattern: fourth,
    extras: { sharedExperts: 0 },
  }),
  dots1: deriveFamily(qwen3Moe, 'Dots1Config', {
    defaults: { experts: { count: 128, active: 6, ffn: 1408 } },
    assumedFields: ['experts', 'activeExperts'],
    extras: {},
  }),
  ernie4_5_moe: ernieMoe,
  exaone_moe: deriveFamily(qwen3Moe, 'ExaoneMoeConfig', {
    keys: routedOnly,
    extras: { sharedExperts: 1, firstDenseLayers: 1 },
    window: { when: 'always', tokens: 4096 },
    pattern: fourth,
  }),
  flex_olmo: deriveFamily(olmoe, 'FlexOlmoConfig'),
  flint: deriveFamily(qwen3Moe, 'FlintConfig', {
    extras: { decoderSparseStep: 1, sharedExpertFfn: 1024, firstDenseLayers: 2 },
    traits: { attentionSinks: true },
    window: { when: 'always', tokens: 513 },
  }),
  glm4_moe: glm4Moe,
  glm4v_moe_text: deriveFamily(glm4Moe, 'Glm4vMoeTextConfig', { defaults: { qkvBias: true } }),
  granitemoe: granite,
  granitemoeshared: deriveFamily(granite, 'GraniteMoeSharedConfig'),
  granitemoe_swa: deriveFamily(granite, 'GraniteMoeSWAConfig', {
    traits: { attentionSinks: true },
    window: { when: 'always', tokens: 128 },
    pattern: fourth,
  }),
  hunyuan_v1_moe: deriveFamily(mixtral, 'HunYuanMoEV1Config', {
    keys: withBias,
    always: { ...llamaAlways, qkNorm: true },
    extras: { sharedExperts: 1 },
    window: { when: 'flag', tokens: null },
  }),
  hy_v3: deriveFamily(qwen3Moe, 'HYV3Config', { extras: { sharedExperts: 1, firstDenseLayers: 1 } }),
  kolibri1: deriveFamily(qwen3Moe, 'Kolibri1Config', {
    extras: { sharedExpertFfn: 512 },
    traits: { normsPerLayer: 4 },
    window: { when: 'always', tokens: 513 },
  }),
  mellum: deriveFamily(qwen3Moe, 'MellumConfig', { extras: {}, window: { when: 'always', tokens: 1024 } }),
  minimax_m2: deriveFamily(mixtral, 'MiniMaxM2Config', {
    always: { ...llamaAlways, qkNorm: true },
    traits: { qkNormAcrossHeads: true },
    window: { when: 'flag', tokens: null },
  }),
  minimax_m3_vl_text: deriveFamily(mixtral, 'MiniMaxM3VLTextConfig', {
    keys: { ...mixtral.keys, ffn: ['dense_intermediate_size'], expertFfn: ['intermediate_size'] },
    always: { ...llamaAlways, qkNorm: true },
    extras: { sharedExpertFfn: 3072 },
    window: { when: 'flag', tokens: null },
  }),
  olmoe,
  phimoe: deriveFamily(mixtral, 'PhimoeConfig', { keys: withBias, always: { ...llamaAlways, norm: 'layernorm' } }),
  qwen3_omni_moe_text: deriveFamily(qwen3Moe, 'Qwen3OmniMoeTextConfig', { window: { when: 'flag', tokens: null } }),
  solar_open: deriveFamily(qwen3Moe, 'SolarOpenConfig', { always: llamaAlways, extras: { sharedExperts: 1 } }),
} as const satisfies Readonly<Record<string, Family>>;
