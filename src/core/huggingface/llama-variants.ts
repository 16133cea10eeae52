import { sentence } from '../sentence';
import { attentionBias, llamaAlways, llamaKeys, tied, variantOf, type Family } from './family';
import { cohere, gemma2, llama, mistral, olmo2, qwen2, qwen3 } from './llama-families';

const windowed = { when: 'always', tokens: 4096 } as const;
/** Every fourth layer attends to the whole sequence. */
const fourth = { period: 4, keys: [], kind: 'sliding_attention' } as const;
const plainAlways = { ...llamaAlways, gatedMlp: false } as const;
const withMlpBias = { ...llamaKeys, ...attentionBias, mlpBias: ['mlp_bias'] } as const;
const ofQueries = { ...llamaKeys, qkvBias: ['attention_bias'] } as const;
const allBiases = { qkvBias: ['use_bias'], attentionOutputBias: ['use_bias'], mlpBias: ['use_bias'] } as const;

const glm = variantOf(
  llama,
  'GlmConfig',
  { layers: 40, kvHeads: 2, headDim: 128, ffn: 13696, vocab: 151552, maxPositions: 131072, qkvBias: true },
  { keys: ofQueries },
);
const glm4 = variantOf(glm, 'Glm4Config', {}, { traits: { normsPerLayer: 4 } });
const ernie = variantOf(
  llama,
  'Ernie4_5Config',
  { layers: 18, hidden: 1024, heads: 16, kvHeads: 2, headDim: 128, ffn: 3072, vocab: 103424, maxPositions: 131072, ...tied },
  { keys: { ...llamaKeys, ...allBiases } },
);
const jais: Family = variantOf(
  llama,
  'Jais2Config',
  { hidden: 3328, heads: 26, ffn: 26624, vocab: 150272, maxPositions: 8192, qkvBias: true, attentionOutputBias: true, mlpBias: true },
  { keys: withMlpBias, always: { ...plainAlways, norm: 'layernorm' } },
);

/**
 * Dense families whose layers differ from Llama's in norms, biases, heads or a feed-forward network without a gate. Source: configuration
 * and modelling classes of transformers 5.23.
 */
export const llamaVariants = {
  apertus: variantOf(
    llama,
    'ApertusConfig',
    { ffn: 14336, vocab: 131072, maxPositions: 65536 },
    // its activation (xIELU) learns two numbers
    { keys: { ...llamaKeys, ...attentionBias }, always: { ...plainAlways, qkNorm: true }, small: () => ({ layer: 2 }) },
  ),
  arcee: variantOf(llama, 'ArceeConfig', { hidden: 2560, ffn: 18432, maxPositions: 4096 }, { keys: withMlpBias, always: plainAlways }),
  bitnet: variantOf(
    llama,
    'BitNetConfig',
    { layers: 30, hidden: 2560, heads: 20, kvHeads: 5, ffn: 6912, vocab: 128256 },
    { keys: { ...llamaKeys, ...attentionBias }, small: ({ hidden, ffn }) => ({ layer: hidden + ffn }) },
  ),
  cohere_compass_text: variantOf(cohere, 'CohereCompassTextConfig', {}, { window: windowed, pattern: fourth }),
  cwm: variantOf(
    llama,
    'CwmConfig',
    { layers: 64, hidden: 6144, heads: 48, kvHeads: 8, headDim: 128, ffn: 21504, vocab: 128256, maxPositions: 131072 },
    { keys: llamaKeys, window: { when: 'always', tokens: 8192 }, pattern: { ...fourth } },
  ),
  diffllama: variantOf(
    llama,
    'DiffLlamaConfig',
    { layers: 16, hidden: 2048, ffn: 8192 },
    {
      keys: { ...llamaKeys, ...attentionBias },
      small: ({ headDim }) => ({ attention: 4 * headDim }),
      approximated: sentence`one attention of each head, though it is the difference of two`,
    },
  ),
  emu3_text_model: variantOf(llama, 'Emu3TextConfig', { kvHeads: 8, ffn: 14336, vocab: 184622, maxPositions: 9216 }, { keys: withMlpBias }),
  ernie4_5: ernie,
  paddleocr_vl_text: variantOf(ernie, 'PaddleOCRTextConfig', {}),
  exaone4: variantOf(
    qwen3,
    'Exaone4Config',
    { headDim: null, ffn: 16384, vocab: 102400, maxPositions: 2048 },
    { keys: llamaKeys, window: windowed, pattern: fourth },
  ),
  glm,
  glm4,
  glm4v_text: variantOf(glm4, 'Glm4vTextConfig', { headDim: null, maxPositions: 32768 }),
  glm_ocr_text: variantOf(
    glm4,
    'GlmOcrTextConfig',
    { layers: 16, hidden: 1024, heads: 16, kvHeads: 8, headDim: null, ffn: 4096, vocab: 59392, qkvBias: false },
    { keys: llamaKeys },
  ),
  granite_swa: variantOf(
    llama,
    'GraniteSWAConfig',
    { layers: 24, hidden: 2560, heads: 20, kvHeads: 4, ffn: 8192, vocab: 100352, maxPositions: 8192, ...tied },
    { keys: withMlpBias, traits: { attentionSinks: true }, window: { when: 'always', tokens: 128 }, pattern: fourth },
  ),
  helium: variantOf(
    llama,
    'HeliumConfig',
    { layers: 24, hidden: 2560, heads: 20, kvHeads: 20, headDim: 128, ffn: 7040, vocab: 48000, maxPositions: 4096 },
    { keys: { ...ofQueries, mlpBias: ['mlp_bias'] } },
  ),
  hunyuan_v1_dense: variantOf(
    qwen3,
    'HunYuanDenseV1Config',
    { kvHeads: null, headDim: null, ffn: 11008, vocab: 290943, maxPositions: 2048 },
    { keys: { ...llamaKeys, ...attentionBias } },
  ),
  hyperclovax: variantOf(llama, 'HyperCLOVAXConfig', {}, { keys: withMlpBias }),
  internlm3: variantOf(
    llama,
    'InternLM3Config',
    { layers: 48, kvHeads: 2, headDim: 128, ffn: 10240, vocab: 128512, maxPositions: 32768 },
    {
      keys: {
        ...llamaKeys,
        qkvBias: ['attention_bias', 'qkv_bias'],
        attentionOutputBias: ['mlp_bias', 'bias'],
        mlpBias: ['mlp_bias', 'bias'],
      },
    },
  ),
  iquestcoder: variantOf(
    llama,
    'IQuestCoderConfig',
    { layers: 80, hidden: 5120, heads: 40, kvHeads: 8, headDim: 128, ffn: 27648, vocab: 76800, maxPositions: 131072 },
    { keys: withMlpBias },
  ),
  jais2: jais,
  ministral: variantOf(mistral, 'MinistralConfig', {}, {}),
  ministral3: variantOf(
    mistral,
    'Ministral3Config',
    { layers: 34, headDim: 128, vocab: 131072, maxPositions: 262144 },
    { window: { when: 'always', tokens: null } },
  ),
  molmo2_text: variantOf(
    qwen3,
    'Molmo2TextConfig',
    { layers: 36, kvHeads: 8, ffn: 12288, maxPositions: 36864 },
    {
      keys: { ...llamaKeys, qkvBias: ['attention_bias', 'qkv_bias'] },
      small: ({ hidden, number }) => ({ model: (number('additional_vocab_size') ?? 128) * hidden }),
    },
  ),
  muse_glimmer_text: variantOf(
    llama,
    'MuseGlimmerTextConfig',
    { layers: 52, hidden: 6656, kvHeads: 2, headDim: 128, ffn: 19968, vocab: 202048, maxPositions: 131072 },
    { keys: llamaKeys, traits: { normsPerLayer: 4, outputGate: true }, window: { when: 'always', tokens: 2048 } },
  ),
  nanochat: variantOf(
    llama,
    'NanoChatConfig',
    { layers: 12, hidden: 768, heads: 6, ffn: 8192, vocab: 50304 },
    { keys: { ...llamaKeys, ...attentionBias }, always: plainAlways, traits: { normParameters: 0 } },
  ),
  olmo3: variantOf(olmo2, 'Olmo3Config', {}, { window: windowed, pattern: fourth }),
  qwen2_5_omni_text: variantOf(
    qwen2,
    'Qwen2_5OmniTextConfig',
    { layers: 28, hidden: 3584, heads: 28, kvHeads: 4, ffn: 18944, vocab: 152064, ...tied },
    { window: { when: 'flag', tokens: 32768 } },
  ),
  seed_oss: variantOf(
    llama,
    'SeedOssConfig',
    { layers: 64, heads: 80, kvHeads: 8, headDim: 128, ffn: 27648, vocab: 155136, maxPositions: 524288, qkvBias: true },
    { keys: { ...ofQueries, attentionOutputBias: ['attention_out_bias'], mlpBias: ['mlp_bias'] } },
  ),
  smollm3: variantOf(
    llama,
    'SmolLM3Config',
    { layers: 36, hidden: 2048, heads: 16, kvHeads: 4, vocab: 128256, maxPositions: 32768, ...tied },
    { keys: withMlpBias, window: { when: 'flag', tokens: null } },
  ),
  vaultgemma: variantOf(gemma2, 'VaultGemmaConfig', {}, { traits: {} }),
  voxtral_realtime_text: variantOf(
    mistral,
    'VoxtralRealtimeTextConfig',
    { vocab: 32000 },
    // two matrices of a rank of 32, by which the delay of the sound scales a norm
    { small: ({ hidden }) => ({ layer: 64 * hidden }) },
  ),
} as const satisfies Readonly<Record<string, Family>>;
