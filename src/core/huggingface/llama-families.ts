import { attentionBias, llamaAlways, llamaKeys, noBias, plainHeads, tied, untied, type Family } from './family';
import { sentence } from '../sentence';

export const llama: Family = {
  configClass: 'LlamaConfig',
  keys: { ...llamaKeys, ...attentionBias, mlpBias: ['mlp_bias'] },
  defaults: {
    layers: 32,
    hidden: 4096,
    heads: 32,
    ffn: 11008,
    vocab: 32000,
    maxPositions: 2048,
    ...plainHeads,
    ...untied,
    ...noBias,
  },
  always: llamaAlways,
};

export const mistral: Family = {
  configClass: 'MistralConfig',
  keys: llamaKeys,
  defaults: { ...llama.defaults, kvHeads: 8, ffn: 14336, maxPositions: 131072 },
  always: llamaAlways,
  window: { when: 'always', tokens: 4096 },
};

export const qwen2: Family = {
  configClass: 'Qwen2Config',
  keys: llamaKeys,
  defaults: { ...llama.defaults, kvHeads: 32, ffn: 22016, vocab: 151936, maxPositions: 32768, qkvBias: true },
  always: llamaAlways,
  window: { when: 'flag', tokens: 4096 },
};

export const qwen3: Family = {
  configClass: 'Qwen3Config',
  keys: { ...llamaKeys, ...attentionBias },
  defaults: { ...qwen2.defaults, headDim: 128, qkvBias: false },
  always: { ...llamaAlways, qkNorm: true },
  window: { when: 'flag', tokens: 4096 },
};

const qwen2Vl: Family = {
  ...qwen2,
  configClass: 'Qwen2VLTextConfig',
  defaults: { ...qwen2.defaults, layers: 80, hidden: 8192, heads: 64, kvHeads: 8, ffn: 29568, vocab: 152064 },
};

const gemma: Family = {
  configClass: 'GemmaConfig',
  keys: { ...llamaKeys, ...attentionBias },
  defaults: {
    layers: 28,
    hidden: 3072,
    heads: 16,
    kvHeads: 16,
    headDim: 256,
    ffn: 24576,
    vocab: 256000,
    maxPositions: 8192,
    ...tied,
    ...noBias,
  },
  always: llamaAlways,
};

export const gemma2: Family = {
  ...gemma,
  configClass: 'Gemma2Config',
  defaults: { ...gemma.defaults, layers: 26, hidden: 2304, heads: 8, kvHeads: 4, ffn: 9216 },
  always: llamaAlways,
  window: { when: 'always', tokens: 4096 },
  traits: { normsPerLayer: 4 },
  pattern: { period: 2, keys: [], kind: 'sliding_attention' },
};

const gemma3: Family = {
  ...gemma2,
  configClass: 'Gemma3TextConfig',
  defaults: { ...gemma2.defaults, vocab: 262208, maxPositions: 131072 },
  always: { ...llamaAlways, qkNorm: true },
  pattern: { period: 6, keys: ['sliding_window_pattern', '_sliding_window_pattern'], kind: 'sliding_attention' },
};

const phi3: Family = {
  configClass: 'Phi3Config',
  keys: llamaKeys,
  defaults: { ...llama.defaults, hidden: 3072, ffn: 8192, vocab: 32064, maxPositions: 4096 },
  always: llamaAlways,
  window: { when: 'always', tokens: null },
};

const olmo: Family = {
  configClass: 'OlmoConfig',
  keys: { ...llamaKeys, ...attentionBias },
  defaults: { ...llama.defaults, vocab: 50304 },
  always: { ...llamaAlways, norm: 'layernorm' },
  traits: { normParameters: 0 },
};

export const olmo2: Family = {
  ...olmo,
  configClass: 'Olmo2Config',
  always: { ...llamaAlways, qkNorm: true },
  traits: { qkNormAcrossHeads: true },
};

export const cohere: Family = {
  configClass: 'CohereConfig',
  keys: { ...llamaKeys, ...attentionBias },
  defaults: {
    layers: 40,
    hidden: 8192,
    heads: 64,
    ffn: 22528,
    vocab: 256000,
    maxPositions: 8192,
    ...plainHeads,
    ...tied,
    ...noBias,
  },
  always: { ...llamaAlways, norm: 'layernorm' },
  traits: { normsPerLayer: 1, normParameters: 1, qkNormAcrossHeads: true },
  approximated: sentence`attention and feed-forward one after the other, though they run in parallel`,
};

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
  qwen2_5_vl_text: { ...qwen2Vl, configClass: 'Qwen2_5_VLTextConfig' },
  qwen3_vl_text: { ...qwen3, configClass: 'Qwen3VLTextConfig', defaults: { ...qwen3.defaults, maxPositions: 128000 } },
  gemma,
  gemma2,
  gemma3_text: gemma3,
  phi3,
  olmo,
  olmo2,
  granite: { ...llama, configClass: 'GraniteConfig' },
  cohere,
  cohere2: {
    ...cohere,
    configClass: 'Cohere2Config',
    window: { when: 'always', tokens: 4096 },
    pattern: { period: 4, keys: ['sliding_window_pattern', '_sliding_window_pattern'], kind: 'sliding_attention' },
  },
  stablelm: {
    configClass: 'StableLmConfig',
    keys: { ...llamaKeys, qkvBias: ['use_qkv_bias'] },
    defaults: { ...llama.defaults, hidden: 2560, kvHeads: 32, ffn: 6912, vocab: 50304, maxPositions: 4096 },
    always: { ...llamaAlways, norm: 'layernorm' },
    traits: { qkNormAcrossHeads: true },
  },
  mllama_text_model: {
    configClass: 'MllamaTextConfig',
    keys: llamaKeys,
    defaults: { ...llama.defaults, layers: 40, kvHeads: 8, ffn: 14336, vocab: 128256, maxPositions: 131072 },
    always: llamaAlways,
    // eight words of images only in the embedding; layers of cross-attention norm queries and keys and weigh both outputs
    small: ({ hidden, headDim, list }) => ({ model: 8 * hidden + (list('cross_attention_layers')?.length ?? 8) * (2 * headDim + 2) }),
  },
} as const satisfies Readonly<Record<string, Family>>;
