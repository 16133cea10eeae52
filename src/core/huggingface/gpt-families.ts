import {
  allBias,
  attentionBias,
  bertKeys,
  gptAlways,
  gptKeys,
  llamaKeys,
  makeFamily,
  rotaryGptAlways,
  deriveFamily,
  noBias,
  type Family,
} from './family';
import { sentence } from '../sentence';

const parallel = sentence`attention and feed-forward one after the other, though they run in parallel`;

const gpt2: Family = makeFamily('GPT2Config', { keys: gptKeys, defaults: allBias, always: gptAlways });

const gptj: Family = makeFamily('GPTJConfig', {
  keys: gptKeys,
  defaults: { mlpBias: true },
  always: rotaryGptAlways,
  traits: { normsPerLayer: 1, headBias: true },
  approximated: parallel,
});

/**
 * OPT-350m's words are narrower than its layers, with a matrix into and one out of them; and its norms follow each half of a layer, with
 * none after the last.
 */
const optSmall: Family['small'] = ({ hidden, vocab, number }) => {
  const width = number('word_embed_proj_dim') ?? hidden;
  const projections = width === hidden ? 0 : 2 * width * hidden;
  return { model: vocab * (width - hidden) + projections - (number('do_layer_norm_before') === 0 ? 2 * hidden : 0) };
};

/**
 * Families with the layers of GPT: plain feed-forward, LayerNorm. Source: configuration and modelling classes of transformers 4.40 to 5.0.
 */
export const gptFamilies = {
  gpt2,
  gpt_neox: makeFamily('GPTNeoXConfig', { keys: { ...bertKeys, ...attentionBias }, defaults: allBias, always: rotaryGptAlways }),
  gptj,
  codegen: deriveFamily(gptj, 'CodeGenConfig'),
  gpt_bigcode: deriveFamily(gpt2, 'GPTBigCodeConfig', {
    defaults: { kvHeads: 1 },
    assumedFields: ['tiedEmbeddings'],
  }),
  gpt_neo: makeFamily('GPTNeoConfig', {
    keys: {
      layers: ['num_layers', 'num_hidden_layers'],
      hidden: ['hidden_size'],
      heads: ['num_heads', 'num_attention_heads'],
      ffn: ['intermediate_size'],
      vocab: ['vocab_size'],
      tiedEmbeddings: ['tie_word_embeddings'],
      maxPositions: ['max_position_embeddings'],
    },
    defaults: { ...allBias, qkvBias: false },
    always: gptAlways,
    window: { when: 'always', tokens: 256 },
    assumedFields: ['tiedEmbeddings'],
  }),
  falcon: makeFamily('FalconConfig', {
    keys: {
      layers: ['num_hidden_layers', 'n_layer'],
      hidden: ['hidden_size', 'n_embed'],
      heads: ['num_attention_heads', 'n_head'],
      ffn: ['ffn_hidden_size'],
      vocab: ['vocab_size'],
      tiedEmbeddings: ['tie_word_embeddings'],
      maxPositions: ['max_position_embeddings'],
      qkvBias: ['bias'],
      attentionOutputBias: ['bias'],
      mlpBias: ['bias'],
    },
    // without the switches that ask for more heads of keys and values, or for positions that have no table
    defaults: { kvHeads: 1, maxPositions: null },
    always: rotaryGptAlways,
    assumedFields: ['tiedEmbeddings'],
  }),
  phi: makeFamily('PhiConfig', {
    keys: llamaKeys,
    defaults: allBias,
    always: rotaryGptAlways,
    traits: { normsPerLayer: 1, headBias: true },
    approximated: parallel,
  }),
  opt: makeFamily('OPTConfig', {
    keys: {
      ...bertKeys,
      ffn: ['ffn_dim'],
      qkvBias: ['enable_bias'],
      attentionOutputBias: ['enable_bias'],
      mlpBias: ['enable_bias'],
    },
    defaults: allBias,
    always: gptAlways,
    traits: { unusedPositions: 2 },
    small: optSmall,
    assumedFields: ['tiedEmbeddings'],
  }),
  bloom: makeFamily('BloomConfig', {
    keys: {
      layers: ['n_layer', 'num_hidden_layers'],
      hidden: ['hidden_size', 'n_embed'],
      heads: ['n_head', 'num_attention_heads'],
      vocab: ['vocab_size'],
      tiedEmbeddings: ['tie_word_embeddings'],
    },
    defaults: allBias,
    always: { ...gptAlways, positions: 'none' },
    traits: { embeddingNorm: true },
    assumedFields: ['tiedEmbeddings'],
  }),
  mpt: makeFamily('MptConfig', {
    keys: {
      layers: ['n_layers', 'num_hidden_layers'],
      hidden: ['d_model', 'hidden_size'],
      heads: ['n_heads', 'num_attention_heads'],
      vocab: ['vocab_size'],
      tiedEmbeddings: ['tie_word_embeddings'],
      maxPositions: ['max_seq_len'],
    },
    always: { ...gptAlways, positions: 'none' },
    traits: { normParameters: 1, qkNormAcrossHeads: true },
    assumedFields: ['tiedEmbeddings'],
  }),
  starcoder2: makeFamily('Starcoder2Config', {
    keys: { ...llamaKeys, qkvBias: ['use_bias'], attentionOutputBias: ['use_bias'], mlpBias: ['use_bias'] },
    defaults: allBias,
    always: rotaryGptAlways,
    assumedFields: ['tiedEmbeddings'],
    window: { when: 'always', tokens: null },
  }),
  nemotron: makeFamily('NemotronConfig', { keys: { ...llamaKeys, ...attentionBias, mlpBias: ['mlp_bias'] }, always: rotaryGptAlways }),
} as const satisfies Readonly<Record<string, Family>>;

const { opt, gpt_neox: neox } = gptFamilies;
const withoutTable = { ...gptAlways, positions: 'none' } as const;

/**
 * Further families whose feed-forward network has no gate, or whose norms are LayerNorms. Source: configuration and modelling classes of
 * transformers 5.23.
 */
export const gptVariants = {
  biogpt: deriveFamily(opt, 'BioGptConfig', { keys: bertKeys, assumedFields: [], small: () => ({}) }),
  cosmos3_edge_text: makeFamily('Cosmos3EdgeTextConfig', { keys: llamaKeys, always: { ...rotaryGptAlways, norm: 'rmsnorm' } }),
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
    always: { ...rotaryGptAlways, gatedMlp: true },
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
    always: { ...rotaryGptAlways, gatedMlp: true },
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
    always: { ...rotaryGptAlways, qkNorm: true },
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
