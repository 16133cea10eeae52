import {
  allBias,
  attentionBias,
  bertKeys,
  llamaAlways,
  llamaKeys,
  makeFamily,
  routedKeys,
  deriveFamily,
  untied,
  type Family,
} from './family';

export const routedOnly = { ...llamaKeys, ...routedKeys, expertFfn: ['moe_intermediate_size'] } as const;
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
    keys: routedOnly,
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
