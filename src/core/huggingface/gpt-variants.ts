import { allBias, bertKeys, gptAlways, gptKeys, llamaKeys, noBias, plainHeads, tied, untied, variantOf, type Family } from './family';
import { gptFamilies } from './gpt-families';

const { gpt2, opt, gpt_neox: neox } = gptFamilies;
const withoutTable = { ...gptAlways, positions: 'none' } as const;
const rotary = { ...gptAlways, positions: 'rotary' } as const;

/**
 * Further families whose feed-forward network has no gate, or whose norms are LayerNorms. Source: configuration and modelling classes of
 * transformers 5.23.
 */
export const gptVariants = {
  biogpt: variantOf(
    opt,
    'BioGptConfig',
    { layers: 24, hidden: 1024, heads: 16, ffn: 4096, vocab: 42384, maxPositions: 1024 },
    { keys: bertKeys, assumedFields: [], small: () => ({}) },
  ),
  cosmos3_edge_text: {
    configClass: 'Cosmos3EdgeTextConfig',
    keys: llamaKeys,
    defaults: {
      layers: 28,
      hidden: 2048,
      heads: 16,
      kvHeads: 8,
      headDim: 128,
      ffn: 9216,
      vocab: 131072,
      maxPositions: 131072,
      ...untied,
      ...noBias,
    },
    always: { ...rotary, norm: 'rmsnorm' },
  },
  ctrl: variantOf(
    gpt2,
    'CTRLConfig',
    { layers: 48, hidden: 1280, heads: 16, ffn: 8192, vocab: 246534, maxPositions: 256 },
    { keys: { ...gptKeys, ffn: ['dff'] }, always: withoutTable, traits: { headBias: true } },
  ),
  dbrx: {
    configClass: 'DbrxConfig',
    keys: {
      layers: ['n_layers', 'num_hidden_layers'],
      hidden: ['d_model', 'hidden_size'],
      heads: ['n_heads', 'num_attention_heads'],
      vocab: bertKeys.vocab,
      tiedEmbeddings: bertKeys.tiedEmbeddings,
      maxPositions: ['max_seq_len', 'max_position_embeddings'],
    },
    defaults: {
      layers: 24,
      hidden: 2048,
      heads: 16,
      kvHeads: 1,
      headDim: null,
      ffn: 3584,
      vocab: 32000,
      maxPositions: 2048,
      experts: { count: 4, active: 1 },
      ...untied,
      ...noBias,
    },
    always: { ...rotary, gatedMlp: true },
    traits: { normParameters: 1 },
  },
  gpt_neox_japanese: variantOf(
    neox,
    'GPTNeoXJapaneseConfig',
    { layers: 32, hidden: 2560, heads: 32, ffn: null, vocab: 32000, ...tied, ...noBias },
    // only the last layer's output projection has a bias
    { keys: bertKeys, small: ({ hidden }) => ({ model: hidden }) },
  ),
  'modernbert-decoder': {
    configClass: 'ModernBertDecoderConfig',
    keys: { ...bertKeys, qkvBias: ['attention_bias'], attentionOutputBias: ['attention_bias'], mlpBias: ['mlp_bias'] },
    defaults: {
      layers: 22,
      hidden: 768,
      heads: 12,
      ffn: 1152,
      vocab: 50368,
      maxPositions: 8192,
      ...plainHeads,
      ...tied,
      ...noBias,
    },
    always: { ...rotary, gatedMlp: true },
    traits: { normParameters: 1, embeddingNorm: true, headBias: true },
    // a matrix and a norm before the head; the first layer has no norm before its attention
    small: ({ hidden }) => ({ model: hidden * hidden }),
    window: { when: 'always', tokens: 64 },
  },
  'openai-gpt': variantOf(
    gpt2,
    'OpenAIGPTConfig',
    { vocab: 40478, maxPositions: 512 },
    // norms follow each half of a layer: there is none after the last layer
    { small: ({ hidden }) => ({ model: -2 * hidden }) },
  ),
  persimmon: {
    configClass: 'PersimmonConfig',
    keys: bertKeys,
    defaults: {
      layers: 36,
      hidden: 4096,
      heads: 64,
      ffn: 16384,
      vocab: 262144,
      maxPositions: 16384,
      ...plainHeads,
      ...untied,
      ...allBias,
    },
    always: { ...rotary, qkNorm: true },
    // norms of queries and keys have biases too
    small: ({ headDim, number }) => ({ attention: number('qk_layernorm') === 0 ? 0 : 2 * headDim }),
  },
  xglm: variantOf(
    opt,
    'XGLMConfig',
    { layers: 24, hidden: 1024, heads: 16, ffn: 4096, vocab: 256008 },
    {
      keys: {
        ...bertKeys,
        layers: ['num_layers', 'num_hidden_layers'],
        hidden: ['d_model', 'hidden_size'],
        heads: ['attention_heads', 'num_attention_heads'],
        ffn: ['ffn_dim'],
      },
      always: withoutTable,
      traits: {},
      small: () => ({}),
    },
  ),
} as const satisfies Readonly<Record<string, Family>>;
