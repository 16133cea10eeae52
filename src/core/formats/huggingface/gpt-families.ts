import {
  allBias,
  attentionBias,
  bertKeys,
  gptAlways,
  gptKeys,
  llamaKeys,
  noBias,
  plainHeads,
  rotaryGptAlways,
  tied,
  untied,
  type Family,
} from './family';

const parallel = 'attention and feed-forward one after the other, though they run beside each other';

const gpt2: Family = {
  configClass: 'GPT2Config',
  keys: gptKeys,
  defaults: {
    ...{ layers: 12, hidden: 768, heads: 12, ffn: null, vocab: 50257, maxPositions: 1024 },
    ...plainHeads,
    ...tied,
    ...allBias,
  },
  always: gptAlways,
};

const gptj: Family = {
  configClass: 'GPTJConfig',
  keys: gptKeys,
  defaults: {
    ...{ layers: 28, hidden: 4096, heads: 16, ffn: null, vocab: 50400, maxPositions: 2048 },
    ...plainHeads,
    ...untied,
    ...noBias,
    mlpBias: true,
  },
  always: rotaryGptAlways,
  traits: { normsPerLayer: 1, headBias: true },
  approximated: parallel,
};

/** Families with the layers of GPT: plain feed-forward, LayerNorm. Source: configuration and modelling classes of transformers 4.40 to 5.0. */
export const gptFamilies = {
  gpt2,
  gpt_neox: {
    configClass: 'GPTNeoXConfig',
    keys: { ...bertKeys, ...attentionBias },
    defaults: {
      ...{ layers: 44, hidden: 6144, heads: 64, ffn: 24576, vocab: 50432, maxPositions: 2048 },
      ...plainHeads,
      ...untied,
      ...allBias,
    },
    always: rotaryGptAlways,
  },
  gptj,
  codegen: { ...gptj, configClass: 'CodeGenConfig' },
  gpt_bigcode: { ...gpt2, configClass: 'GPTBigCodeConfig', defaults: { ...gpt2.defaults, kvHeads: 1 }, unsaid: ['tiedEmbeddings'] },
  gpt_neo: {
    configClass: 'GPTNeoConfig',
    keys: {
      ...{ layers: ['num_layers', 'num_hidden_layers'], hidden: ['hidden_size'], heads: ['num_heads', 'num_attention_heads'] },
      ...{ ffn: ['intermediate_size'], vocab: ['vocab_size'], tiedEmbeddings: ['tie_word_embeddings'] },
      maxPositions: ['max_position_embeddings'],
    },
    defaults: { ...gpt2.defaults, layers: 24, hidden: 2048, heads: 16, maxPositions: 2048, qkvBias: false },
    always: gptAlways,
    unsaid: ['tiedEmbeddings'],
    approximated: 'all layers with attention over the whole sequence, though every other one attends to a window',
  },
  falcon: {
    configClass: 'FalconConfig',
    keys: {
      ...{ layers: ['num_hidden_layers', 'n_layer'], hidden: ['hidden_size', 'n_embed'], heads: ['num_attention_heads', 'n_head'] },
      ...{
        ffn: ['ffn_hidden_size'],
        vocab: ['vocab_size'],
        tiedEmbeddings: ['tie_word_embeddings'],
        maxPositions: ['max_position_embeddings'],
      },
      ...{ qkvBias: ['bias'], attentionOutputBias: ['bias'], mlpBias: ['bias'] },
    },
    defaults: {
      ...{ layers: 32, hidden: 4544, heads: 71, kvHeads: 1, headDim: null, ffn: null, vocab: 65024, maxPositions: null },
      ...tied,
      ...noBias,
    },
    always: rotaryGptAlways,
    unsaid: ['tiedEmbeddings'],
  },
  phi: {
    configClass: 'PhiConfig',
    keys: llamaKeys,
    defaults: {
      ...{ layers: 24, hidden: 2048, heads: 32, ffn: 8192, vocab: 51200, maxPositions: 2048 },
      ...plainHeads,
      ...untied,
      ...allBias,
    },
    always: rotaryGptAlways,
    traits: { normsPerLayer: 1, headBias: true },
    approximated: parallel,
  },
  opt: {
    configClass: 'OPTConfig',
    keys: {
      ...bertKeys,
      ffn: ['ffn_dim'],
      ...{ qkvBias: ['enable_bias'], attentionOutputBias: ['enable_bias'], mlpBias: ['enable_bias'] },
    },
    defaults: {
      ...{ layers: 12, hidden: 768, heads: 12, ffn: 3072, vocab: 50272, maxPositions: 2048 },
      ...plainHeads,
      ...tied,
      ...allBias,
    },
    always: gptAlways,
    traits: { unusedPositions: 2 },
    unsaid: ['tiedEmbeddings'],
  },
  bloom: {
    configClass: 'BloomConfig',
    keys: {
      ...{ layers: ['n_layer', 'num_hidden_layers'], hidden: ['hidden_size', 'n_embed'], heads: ['n_head', 'num_attention_heads'] },
      ...{ vocab: ['vocab_size'], tiedEmbeddings: ['tie_word_embeddings'] },
    },
    defaults: {
      ...{ layers: 2, hidden: 64, heads: 8, ffn: null, vocab: 250880, maxPositions: null },
      ...plainHeads,
      ...tied,
      ...allBias,
    },
    always: { ...gptAlways, positions: 'none' },
    traits: { embeddingNorm: true },
    unsaid: ['tiedEmbeddings'],
  },
  mpt: {
    configClass: 'MptConfig',
    keys: {
      ...{ layers: ['n_layers', 'num_hidden_layers'], hidden: ['d_model', 'hidden_size'], heads: ['n_heads', 'num_attention_heads'] },
      ...{ vocab: ['vocab_size'], tiedEmbeddings: ['tie_word_embeddings'], maxPositions: ['max_seq_len'] },
    },
    defaults: {
      ...{ layers: 24, hidden: 2048, heads: 16, ffn: null, vocab: 50368, maxPositions: 2048 },
      ...plainHeads,
      ...tied,
      ...noBias,
    },
    always: gptAlways,
    traits: { normParameters: 1 },
    unsaid: ['tiedEmbeddings'],
  },
  starcoder2: {
    configClass: 'Starcoder2Config',
    keys: { ...llamaKeys, qkvBias: ['use_bias'], attentionOutputBias: ['use_bias'], mlpBias: ['use_bias'] },
    defaults: {
      ...{ layers: 30, hidden: 3072, heads: 24, kvHeads: 2, headDim: null, ffn: 12288, vocab: 49152, maxPositions: 4096 },
      ...tied,
      ...allBias,
    },
    always: rotaryGptAlways,
    unsaid: ['tiedEmbeddings'],
    window: { when: 'always', tokens: null },
  },
  nemotron: {
    configClass: 'NemotronConfig',
    keys: { ...llamaKeys, ...attentionBias, mlpBias: ['mlp_bias'] },
    defaults: {
      ...{ layers: 32, hidden: 6144, heads: 48, ffn: 24576, vocab: 256000, maxPositions: 4096 },
      ...plainHeads,
      ...untied,
      ...noBias,
    },
    always: rotaryGptAlways,
  },
} as const satisfies Readonly<Record<string, Family>>;
