import { allBias, bertKeys, gptAlways, gptKeys, llamaKeys, makeFamily, noBias, deriveFamily, type Family } from './family';
import { gptFamilies } from './gpt-families';

const { gpt2, opt, gpt_neox: neox } = gptFamilies;
const withoutTable = { ...gptAlways, positions: 'none' } as const;
const rotary = { ...gptAlways, positions: 'rotary' } as const;

/**
 * Further families whose feed-forward network has no gate, or whose norms are LayerNorms. Source: configuration and modelling classes of
 * transformers 5.23.
 */
export const gptVariants = {
  biogpt: deriveFamily(opt, 'BioGptConfig', { keys: bertKeys, assumedFields: [], small: () => ({}) }),
  cosmos3_edge_text: makeFamily('Cosmos3EdgeTextConfig', { keys: llamaKeys, always: { ...rotary, norm: 'rmsnorm' } }),
  ctrl: deriveFamily(gpt2, 'CTRLConfig', { keys: { ...gptKeys, ffn: ['dff'] }, always: withoutTable, traits: { headBias: true } }),
  dbrx: makeFamily('DbrxConfig', {
    keys: {
      layers: ['n_layers', 'num_hidden_layers'],
      hidden: ['d_model', 'hidden_size'],
      heads: ['n_heads', 'num_attention_heads'],
      vocab: bertKeys.vocab,
      tiedEmbeddings: bertKeys.tiedEmbeddings,
      maxPositions: ['max_seq_len', 'max_position_embeddings'],
    },
    always: { ...rotary, gatedMlp: true },
    traits: { normParameters: 1 },
  }),
  gpt_neox_japanese: deriveFamily(neox, 'GPTNeoXJapaneseConfig', {
    defaults: noBias,
    keys: bertKeys,
    // only the last layer's output projection has a bias
    small: ({ hidden }) => ({ model: hidden }),
  }),
  'modernbert-decoder': makeFamily('ModernBertDecoderConfig', {
    keys: { ...bertKeys, qkvBias: ['attention_bias'], attentionOutputBias: ['attention_bias'], mlpBias: ['mlp_bias'] },
    always: { ...rotary, gatedMlp: true },
    traits: { normParameters: 1, embeddingNorm: true, headBias: true },
    // a matrix and a norm before the head; the first layer has no norm before its attention
    small: ({ hidden }) => ({ model: hidden * hidden }),
    window: { when: 'always', tokens: 64 },
  }),
  'openai-gpt': deriveFamily(gpt2, 'OpenAIGPTConfig', {
    // norms follow each half of a layer: there is none after the last layer
    small: ({ hidden }) => ({ model: -2 * hidden }),
  }),
  persimmon: makeFamily('PersimmonConfig', {
    keys: bertKeys,
    defaults: allBias,
    always: { ...rotary, qkNorm: true },
    // norms of queries and keys have biases too
    small: ({ headDim, number }) => ({ attention: number('qk_layernorm') === 0 ? 0 : 2 * headDim }),
  }),
  xglm: deriveFamily(opt, 'XGLMConfig', {
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
  }),
} as const satisfies Readonly<Record<string, Family>>;
