import { attentionBias, bertKeys, llamaAlways, llamaKeys, noBias, plainHeads, routedKeys, untied, type Family } from './family';

const routedOnly = { ...llamaKeys, ...routedKeys, expertFfn: ['moe_intermediate_size'] } as const;
/** Latent attention has no head size of its own: queries, keys and values each have one. */
const latentKeys = { ...bertKeys, ...routedKeys, kvHeads: ['num_key_value_heads'], expertFfn: ['moe_intermediate_size'] } as const;

const qwen3Moe: Family = {
  configClass: 'Qwen3MoeConfig',
  keys: { ...routedOnly, ...attentionBias },
  defaults: {
    ...{ layers: 24, hidden: 2048, heads: 32, kvHeads: 4, headDim: null, ffn: 6144, vocab: 151936, maxPositions: 32768 },
    experts: { count: 128, active: 8, ffn: 768 },
    ...untied,
    ...noBias,
  },
  always: { ...llamaAlways, qkNorm: true },
  extras: { decoderSparseStep: 1 },
  window: { when: 'flag', tokens: 4096 },
};

const latent = { kvLoraRank: 512, qLoraRank: 1536, qkNopeHeadDim: 128, qkRopeHeadDim: 64, vHeadDim: 128 } as const;

const deepseekV3: Family = {
  configClass: 'DeepseekV3Config',
  keys: { ...latentKeys, ...attentionBias },
  defaults: {
    ...{ layers: 61, hidden: 7168, heads: 128, kvHeads: 128, headDim: null, ffn: 18432, vocab: 129280, maxPositions: 4096 },
    experts: { count: 256, active: 8, ffn: 2048 },
    ...untied,
    ...noBias,
  },
  always: llamaAlways,
  unsaid: ['headDim'],
  extras: { ...latent, sharedExperts: 1, firstDenseLayers: 3 },
};

/** Families with experts. Source: configuration and modelling classes of transformers 4.40 to 5.0. */
export const expertFamilies = {
  mixtral: {
    configClass: 'MixtralConfig',
    keys: { ...llamaKeys, ...routedKeys },
    defaults: {
      ...{ layers: 32, hidden: 4096, heads: 32, kvHeads: 8, headDim: null, ffn: 14336, vocab: 32000, maxPositions: 131072 },
      experts: { count: 8, active: 2 },
      ...untied,
      ...noBias,
    },
    always: llamaAlways,
    window: { when: 'always', tokens: null },
  },
  qwen2_moe: {
    configClass: 'Qwen2MoeConfig',
    keys: routedOnly,
    defaults: {
      ...{ layers: 24, hidden: 2048, heads: 16, kvHeads: 16, headDim: null, ffn: 5632, vocab: 151936, maxPositions: 32768 },
      experts: { count: 60, active: 4, ffn: 1408 },
      ...untied,
      ...noBias,
      qkvBias: true,
    },
    always: llamaAlways,
    extras: { decoderSparseStep: 1, sharedExperts: 1, sharedExpertFfn: 5632 },
    traits: { experts: { sharedGate: true } },
    window: { when: 'flag', tokens: 4096 },
  },
  qwen3_moe: qwen3Moe,
  qwen3_vl_moe_text: {
    ...qwen3Moe,
    configClass: 'Qwen3VLMoeTextConfig',
    defaults: {
      ...qwen3Moe.defaults,
      heads: 16,
      kvHeads: 16,
      ffn: 5632,
      maxPositions: 128000,
      experts: { count: 60, active: 4, ffn: 1408 },
    },
  },
  gpt_oss: {
    configClass: 'GptOssConfig',
    keys: { ...llamaKeys, ...routedKeys, ...attentionBias },
    defaults: {
      ...{ layers: 36, hidden: 2880, heads: 64, kvHeads: 8, headDim: 64, ffn: 2880, vocab: 201088, maxPositions: 131072 },
      experts: { count: 128, active: 4 },
      ...untied,
      qkvBias: true,
      attentionOutputBias: true,
      mlpBias: true,
    },
    always: llamaAlways,
    window: { when: 'always', tokens: 128 },
    pattern: { period: 2, keys: [], kind: 'sliding_attention' },
    traits: { attentionSinks: true, experts: { routerBias: true } },
  },
  llama4_text: {
    configClass: 'Llama4TextConfig',
    keys: { ...llamaKeys, ...routedKeys, ...attentionBias, ffn: ['intermediate_size_mlp'], expertFfn: ['intermediate_size'] },
    defaults: {
      ...{ layers: 48, hidden: 5120, heads: 40, kvHeads: 8, headDim: 128, ffn: 16384, vocab: 202048, maxPositions: 131072 },
      experts: { count: 16, active: 1, ffn: 8192 },
      ...untied,
      ...noBias,
    },
    always: llamaAlways,
    extras: { sharedExperts: 1, decoderSparseStep: 1 },
    pattern: { period: 4, keys: [], kind: 'chunked_attention' },
  },
  deepseek_v2: {
    ...deepseekV3,
    configClass: 'DeepseekV2Config',
    keys: { ...deepseekV3.keys, mlpBias: ['mlp_bias'] },
    defaults: {
      ...{ layers: 32, hidden: 4096, heads: 32, ffn: 11008, vocab: 32000, maxPositions: 2048 },
      ...plainHeads,
      experts: { count: 64, ffn: 1407 },
      ...untied,
      ...noBias,
    },
    extras: { ...latent, sharedExperts: 2, firstDenseLayers: 0 },
  },
  deepseek_v3: deepseekV3,
  kimi_k2: deepseekV3,
} as const satisfies Readonly<Record<string, Family>>;
