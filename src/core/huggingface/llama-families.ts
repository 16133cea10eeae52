import { attentionBias, llamaAlways, llamaKeys, makeFamily, deriveFamily, type Family } from './family';
import { sentence } from '../sentence';

export const llama: Family = makeFamily('LlamaConfig', {
  keys: { ...llamaKeys, ...attentionBias, mlpBias: ['mlp_bias'] },
  always: llamaAlways,
});

export const mistral: Family = makeFamily('MistralConfig', {
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

export const qwen3: Family = makeFamily('Qwen3Config', {
  keys: { ...llamaKeys, ...attentionBias },
  always: { ...llamaAlways, qkNorm: true },
  window: { when: 'flag', tokens: 4096 },
});

const qwen2Vl: Family = deriveFamily(qwen2, 'Qwen2VLTextConfig');

const gemma: Family = makeFamily('GemmaConfig', { keys: { ...llamaKeys, ...attentionBias }, always: llamaAlways });

export const gemma2: Family = deriveFamily(gemma, 'Gemma2Config', {
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

export const olmo2: Family = deriveFamily(olmo, 'Olmo2Config', {
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
