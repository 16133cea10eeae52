import {
  allBias,
  attentionBias,
  bertKeys,
  everyFourthWhole,
  llamaAlways,
  llamaKeys,
  makeFamily,
  routedKeys,
  deriveFamily,
  untied,
  type Family,
} from './family';
import { cohere } from './llama-families';
import { sentence } from '../sentence';

const routedOnly = { ...llamaKeys, ...routedKeys, expertFfn: ['moe_intermediate_size'] } as const;
/** Latent attention has no head size of its own: queries, keys and values each have one. */
const latentKeys = { ...bertKeys, ...routedKeys, kvHeads: ['num_key_value_heads'], expertFfn: ['moe_intermediate_size'] } as const;

export const qwen3Moe: Family = makeFamily('Qwen3MoeConfig', {
  keys: { ...routedOnly, ...attentionBias },
  always: { ...llamaAlways, qkNorm: true },
  extras: { decoderSparseStep: 1 },
  window: { when: 'flag', tokens: 4096 },
});

const latent = { kvLoraRank: 512, qLoraRank: 1536, qkNopeHeadDim: 128, qkRopeHeadDim: 64, vHeadDim: 128 } as const;

export const deepseekV3: Family = makeFamily('DeepseekV3Config', {
  keys: { ...latentKeys, ...attentionBias },
  always: llamaAlways,
  assumedFields: ['headDim'],
  extras: { ...latent, sharedExperts: 1, firstDenseLayers: 3, routerGroups: 8, routerGroupTopk: 4 },
});

/** Families with experts. Source: configuration and modelling classes of transformers 4.40 to 5.0. */
export const expertFamilies = {
  mixtral: makeFamily('MixtralConfig', {
    keys: { ...llamaKeys, ...routedKeys },
    always: llamaAlways,
    window: { when: 'always', tokens: null },
  }),
  qwen2_moe: makeFamily('Qwen2MoeConfig', {
    keys: { ...routedOnly, qkvBias: ['qkv_bias'] },
    defaults: { qkvBias: true },
    always: llamaAlways,
    extras: { decoderSparseStep: 1, sharedExperts: 1, sharedExpertFfn: 5632 },
    traits: { experts: { sharedGate: true } },
    window: { when: 'flag', tokens: 4096 },
  }),
  qwen3_moe: qwen3Moe,
  qwen3_vl_moe_text: deriveFamily(qwen3Moe, 'Qwen3VLMoeTextConfig', { defaults: untied }),
  gpt_oss: makeFamily('GptOssConfig', {
    keys: { ...llamaKeys, ...routedKeys, ...attentionBias },
    defaults: allBias,
    always: llamaAlways,
    window: { when: 'always', tokens: 128 },
    pattern: { period: 2, keys: [], kind: 'sliding_attention' },
    traits: { attentionSinks: true, experts: { routerBias: true } },
  }),
  llama4_text: makeFamily('Llama4TextConfig', {
    keys: { ...llamaKeys, ...routedKeys, ...attentionBias, ffn: ['intermediate_size_mlp'], expertFfn: ['intermediate_size'] },
    always: llamaAlways,
    extras: { sharedExperts: 1, decoderSparseStep: 1 },
    pattern: { period: 4, keys: [], kind: 'chunked_attention' },
  }),
  deepseek_v2: deriveFamily(deepseekV3, 'DeepseekV2Config', {
    keys: { ...deepseekV3.keys, mlpBias: ['mlp_bias'] },
    // the class leaves the number of active experts open: DeepSeek-V2's own
    defaults: { experts: { count: 64, active: 6, ffn: 1407 } },
    assumedFields: ['activeExperts'],
    extras: { ...latent, sharedExperts: 2, firstDenseLayers: 0 },
  }),
  deepseek_v3: deepseekV3,
  kimi_k2: deepseekV3,
} as const satisfies Readonly<Record<string, Family>>;

const { mixtral } = expertFamilies;
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
    pattern: { ...everyFourthWhole, keys: ['global_attn_every_n_layers'] },
  }),
  aria_text: deriveFamily(mixtral, 'AriaTextConfig', {
    keys: { ...llamaKeys, ...attentionBias, mlpBias: ['mlp_bias'], experts: named.experts, activeExperts: ['moe_topk'] },
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
    pattern: everyFourthWhole,
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
    pattern: everyFourthWhole,
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
    pattern: everyFourthWhole,
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
    approximated: sentence`attention to all earlier tokens, though an indexer picks blocks of them`,
  }),
  olmoe,
  phimoe: deriveFamily(mixtral, 'PhimoeConfig', { keys: withBias, always: { ...llamaAlways, norm: 'layernorm' } }),
  qwen3_omni_moe_text: deriveFamily(qwen3Moe, 'Qwen3OmniMoeTextConfig', { window: { when: 'flag', tokens: null } }),
  solar_open: deriveFamily(qwen3Moe, 'SolarOpenConfig', { always: llamaAlways, extras: { sharedExperts: 1 } }),
} as const satisfies Readonly<Record<string, Family>>;

/** Layers with latent attention and one network for all tokens. */
const latentDense = {
  keys: { ...bertKeys, kvHeads: llamaKeys.kvHeads, ...attentionBias, mlpBias: ['mlp_bias'] },
  always: llamaAlways,
} as const;

/** Elements of the indexer of sparse attention (DeepSeek-V3.2), on average of all layers: some may share another's. */
const indexer: NonNullable<Family['small']> = ({ hidden, number, list }) => {
  const [heads, headDim] = [number('index_n_heads') ?? 64, number('index_head_dim') ?? 128];
  const types = list('indexer_types') ?? ['full'];
  const own = types.filter((type) => type === 'full').length / types.length;
  return { attention: own * ((number('q_lora_rank') ?? 1536) * heads * headDim + hidden * (headDim + heads) + 2 * headDim) };
};
/** Its class has one, of the rotary part only. */
const noHeadSize = { defaults: { headDim: null } } as const;
const indexed = sentence`attention to all earlier tokens, though an indexer picks some of them`;

/**
 * Families with latent attention that differ from DeepSeek-V3 in sizes, or have no experts. Source: configuration and modelling classes of
 * transformers 5.23.
 */
export const latentVariants = {
  axk1: deriveFamily(deepseekV3, 'AXK1Config', {
    extras: { ...deepseekV3.extras, firstDenseLayers: 1 },
    small: ({ hidden }) => ({ experts: hidden }),
  }),
  deepseek_v32: deriveFamily(deepseekV3, 'DeepseekV32Config', { ...noHeadSize, small: indexer, approximated: indexed }),
  glm4_moe_lite: deriveFamily(deepseekV3, 'Glm4MoeLiteConfig', {
    extras: {
      kvLoraRank: 512,
      qLoraRank: 768,
      qkNopeHeadDim: 192,
      qkRopeHeadDim: 64,
      vHeadDim: 256,
      sharedExperts: 1,
      firstDenseLayers: 1,
    },
  }),
  glm_moe_dsa: deriveFamily(deepseekV3, 'GlmMoeDsaConfig', {
    ...noHeadSize,
    extras: {
      kvLoraRank: 512,
      qLoraRank: 2048,
      qkNopeHeadDim: 192,
      qkRopeHeadDim: 64,
      vHeadDim: 256,
      sharedExperts: 1,
      firstDenseLayers: 3,
    },
    small: indexer,
    approximated: indexed,
  }),
  minicpm3: makeFamily('MiniCPM3Config', {
    ...latentDense,
    extras: { kvLoraRank: 256, qLoraRank: 768, qkNopeHeadDim: 64, qkRopeHeadDim: 32, vHeadDim: 64 },
  }),
  mistral4: deriveFamily(deepseekV3, 'Mistral4Config', {
    extras: {
      kvLoraRank: 256,
      qLoraRank: 1024,
      qkNopeHeadDim: 64,
      qkRopeHeadDim: 64,
      vHeadDim: 128,
      sharedExperts: 1,
      firstDenseLayers: 0,
    },
  }),
  youtu: makeFamily('YoutuConfig', {
    ...latentDense,
    extras: { kvLoraRank: 512, qLoraRank: 1536, qkNopeHeadDim: 128, qkRopeHeadDim: 64, vHeadDim: 128 },
  }),
} as const satisfies Readonly<Record<string, Family>>;
