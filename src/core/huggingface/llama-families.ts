import { allBias, attentionBias, everyFourthWhole, llamaAlways, llamaKeys, makeFamily, deriveFamily, type Family } from './family';
import { sentence } from '../sentence';

export const llama: Family = makeFamily('LlamaConfig', {
  keys: { ...llamaKeys, ...attentionBias, mlpBias: ['mlp_bias'] },
  always: llamaAlways,
});

const mistral: Family = makeFamily('MistralConfig', {
  keys: llamaKeys,
  always: llamaAlways,
  window: { when: 'always', tokens: 4096 },
});

export const qwen2: Family = makeFamily('Qwen2Config', {
  keys: llamaKeys,
  defaults: { qkvBias: true },
  always: llamaAlways,
  window: { when: 'flag', tokens: 4096 },
});

const qwen3: Family = makeFamily('Qwen3Config', {
  keys: { ...llamaKeys, ...attentionBias },
  always: { ...llamaAlways, qkNorm: true },
  window: { when: 'flag', tokens: 4096 },
});

const qwen2Vl: Family = deriveFamily(qwen2, 'Qwen2VLTextConfig');

const gemma: Family = makeFamily('GemmaConfig', { keys: { ...llamaKeys, ...attentionBias }, always: llamaAlways });

const gemma2: Family = deriveFamily(gemma, 'Gemma2Config', {
  always: llamaAlways,
  window: { when: 'always', tokens: 4096 },
  traits: { normsPerLayer: 4 },
  pattern: { period: 2, keys: [], kind: 'sliding_attention' },
});

const gemma3: Family = deriveFamily(gemma2, 'Gemma3TextConfig', {
  always: { ...llamaAlways, qkNorm: true },
  pattern: { period: 6, keys: ['sliding_window_pattern', '_sliding_window_pattern'], kind: 'sliding_attention' },
});

const phi3: Family = makeFamily('Phi3Config', { keys: llamaKeys, always: llamaAlways, window: { when: 'always', tokens: null } });

const olmo: Family = makeFamily('OlmoConfig', {
  keys: { ...llamaKeys, ...attentionBias },
  always: { ...llamaAlways, norm: 'layernorm' },
  traits: { normParameters: 0 },
});

const olmo2: Family = deriveFamily(olmo, 'Olmo2Config', {
  always: { ...llamaAlways, qkNorm: true },
  traits: { qkNormAcrossHeads: true },
});

export const cohere: Family = makeFamily('CohereConfig', {
  keys: { ...llamaKeys, ...attentionBias },
  always: { ...llamaAlways, norm: 'layernorm' },
  traits: { normsPerLayer: 1, normParameters: 1, qkNormAcrossHeads: true },
  approximated: sentence`attention and feed-forward one after the other, though they run in parallel`,
});

/**
 * Families with the layers of Llama: gated feed-forward, rotary positions. Source: configuration and modelling classes of transformers 4.40
 * to 5.0.
 */
export const llamaFamilies = {
  llama,
  mistral,
  qwen2,
  qwen3,
  qwen2_vl: { ...qwen2Vl, configClass: 'Qwen2VLConfig' },
  qwen2_vl_text: qwen2Vl,
  qwen2_5_vl: { ...qwen2Vl, configClass: 'Qwen2_5_VLConfig' },
  qwen2_5_vl_text: deriveFamily(qwen2Vl, 'Qwen2_5_VLTextConfig'),
  qwen3_vl_text: deriveFamily(qwen3, 'Qwen3VLTextConfig'),
  gemma,
  gemma2,
  gemma3_text: gemma3,
  phi3,
  olmo,
  olmo2,
  granite: deriveFamily(llama, 'GraniteConfig'),
  cohere,
  cohere2: deriveFamily(cohere, 'Cohere2Config', {
    window: { when: 'always', tokens: 4096 },
    pattern: { period: 4, keys: ['sliding_window_pattern', '_sliding_window_pattern'], kind: 'sliding_attention' },
  }),
  stablelm: makeFamily('StableLmConfig', {
    keys: { ...llamaKeys, qkvBias: ['use_qkv_bias'] },
    always: { ...llamaAlways, norm: 'layernorm' },
    traits: { qkNormAcrossHeads: true },
  }),
  mllama_text_model: makeFamily('MllamaTextConfig', {
    keys: llamaKeys,
    always: llamaAlways,
    // eight words of images only in the embedding; layers of cross-attention norm queries and keys and weigh both outputs
    small: ({ hidden, headDim, list }) => ({ model: 8 * hidden + (list('cross_attention_layers')?.length ?? 8) * (2 * headDim + 2) }),
  }),
} as const satisfies Readonly<Record<string, Family>>;

const windowed = { when: 'always', tokens: 4096 } as const;
const plainAlways = { ...llamaAlways, gatedMlp: false } as const;
const withMlpBias = { ...llamaKeys, ...attentionBias, mlpBias: ['mlp_bias'] } as const;
const ofQueries = { ...llamaKeys, qkvBias: ['attention_bias'] } as const;
const allBiases = { qkvBias: ['use_bias'], attentionOutputBias: ['use_bias'], mlpBias: ['use_bias'] } as const;

const glm = deriveFamily(llama, 'GlmConfig', { defaults: { qkvBias: true }, keys: ofQueries });
const glm4 = deriveFamily(glm, 'Glm4Config', { traits: { normsPerLayer: 4 } });
const ernie = deriveFamily(llama, 'Ernie4_5Config', { keys: { ...llamaKeys, ...allBiases } });
const jais: Family = deriveFamily(llama, 'Jais2Config', {
  defaults: allBias,
  keys: withMlpBias,
  always: { ...plainAlways, norm: 'layernorm' },
});

/**
 * Dense families whose layers differ from Llama's in norms, biases, heads or a feed-forward network without a gate. Source: configuration
 * and modelling classes of transformers 5.23.
 */
export const llamaVariants = {
  apertus: deriveFamily(llama, 'ApertusConfig', {
    // its activation (xIELU) learns two numbers
    keys: { ...llamaKeys, ...attentionBias },
    always: { ...plainAlways, qkNorm: true },
    small: () => ({ layer: 2 }),
  }),
  arcee: deriveFamily(llama, 'ArceeConfig', { keys: withMlpBias, always: plainAlways }),
  bitnet: deriveFamily(llama, 'BitNetConfig', {
    keys: { ...llamaKeys, ...attentionBias },
    small: ({ hidden, ffn }) => ({ layer: hidden + ffn }),
  }),
  cohere_compass_text: deriveFamily(cohere, 'CohereCompassTextConfig', { window: windowed, pattern: everyFourthWhole }),
  cwm: deriveFamily(llama, 'CwmConfig', {
    keys: { ...llamaKeys, mlpBias: ['mlp_bias'] },
    window: { when: 'always', tokens: 8192 },
    pattern: everyFourthWhole,
  }),
  diffllama: deriveFamily(llama, 'DiffLlamaConfig', {
    keys: { ...llamaKeys, ...attentionBias },
    small: ({ headDim }) => ({ attention: 4 * headDim }),
    approximated: sentence`one attention of each head, though it is the difference of two`,
  }),
  emu3_text_model: deriveFamily(llama, 'Emu3TextConfig', { keys: withMlpBias }),
  ernie4_5: ernie,
  paddleocr_vl_text: deriveFamily(ernie, 'PaddleOCRTextConfig'),
  exaone4: deriveFamily(qwen3, 'Exaone4Config', { keys: llamaKeys, window: windowed, pattern: everyFourthWhole }),
  glm,
  glm4,
  glm4v_text: deriveFamily(glm4, 'Glm4vTextConfig'),
  glm_ocr_text: deriveFamily(glm4, 'GlmOcrTextConfig', { defaults: { qkvBias: false }, keys: llamaKeys }),
  granite_swa: deriveFamily(llama, 'GraniteSWAConfig', {
    keys: withMlpBias,
    traits: { attentionSinks: true },
    window: { when: 'always', tokens: 128 },
    pattern: everyFourthWhole,
  }),
  helium: deriveFamily(llama, 'HeliumConfig', { keys: { ...ofQueries, mlpBias: ['mlp_bias'] } }),
  hunyuan_v1_dense: deriveFamily(qwen3, 'HunYuanDenseV1Config', { keys: { ...llamaKeys, ...attentionBias } }),
  hyperclovax: deriveFamily(llama, 'HyperCLOVAXConfig', { keys: withMlpBias }),
  internlm3: deriveFamily(llama, 'InternLM3Config', {
    keys: {
      ...llamaKeys,
      qkvBias: ['attention_bias', 'qkv_bias'],
      attentionOutputBias: ['mlp_bias', 'bias'],
      mlpBias: ['mlp_bias', 'bias'],
    },
  }),
  iquestcoder: deriveFamily(llama, 'IQuestCoderConfig', { keys: withMlpBias }),
  jais2: jais,
  ministral: deriveFamily(mistral, 'MinistralConfig'),
  ministral3: deriveFamily(mistral, 'Ministral3Config', { window: { when: 'always', tokens: null } }),
  molmo2_text: deriveFamily(qwen3, 'Molmo2TextConfig', {
    keys: { ...llamaKeys, qkvBias: ['attention_bias', 'qkv_bias'] },
    small: ({ hidden, number }) => ({ model: (number('additional_vocab_size') ?? 128) * hidden }),
  }),
  muse_glimmer_text: deriveFamily(llama, 'MuseGlimmerTextConfig', {
    keys: llamaKeys,
    traits: { normsPerLayer: 4, outputGate: true },
    window: { when: 'always', tokens: 2048 },
  }),
  nanochat: deriveFamily(llama, 'NanoChatConfig', {
    keys: { ...llamaKeys, ...attentionBias },
    always: plainAlways,
    traits: { normParameters: 0 },
  }),
  olmo3: deriveFamily(olmo2, 'Olmo3Config', { window: windowed, pattern: everyFourthWhole }),
  qwen2_5_omni_text: deriveFamily(qwen2, 'Qwen2_5OmniTextConfig', { window: { when: 'flag', tokens: 32768 } }),
  seed_oss: deriveFamily(llama, 'SeedOssConfig', {
    defaults: { qkvBias: true },
    keys: { ...ofQueries, attentionOutputBias: ['attention_out_bias'], mlpBias: ['mlp_bias'] },
  }),
  smollm3: deriveFamily(llama, 'SmolLM3Config', { keys: withMlpBias, window: { when: 'flag', tokens: null } }),
  vaultgemma: deriveFamily(gemma2, 'VaultGemmaConfig', { traits: {} }),
  voxtral_realtime_text: deriveFamily(mistral, 'VoxtralRealtimeTextConfig', {
    // two matrices of a rank of 32, by which the delay of the sound scales a norm
    small: ({ hidden }) => ({ layer: 64 * hidden }),
  }),
} as const satisfies Readonly<Record<string, Family>>;
