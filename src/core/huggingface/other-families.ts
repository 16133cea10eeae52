import { allBias, gptAlways, bertKeys, noBias, plainHeads, tied, untied, variantOf, type Family } from './family';

const bert: Family = {
  configClass: 'BertConfig',
  kind: 'encoder',
  keys: bertKeys,
  defaults: {
    layers: 12,
    hidden: 768,
    heads: 12,
    ffn: 3072,
    vocab: 30522,
    maxPositions: 512,
    ...plainHeads,
    ...tied,
    ...allBias,
  },
  always: gptAlways,
  assumedFields: ['tiedEmbeddings'],
};

const roberta: Family = { ...bert, configClass: 'RobertaConfig', defaults: { ...bert.defaults, vocab: 50265 } };

const t5: Family = {
  configClass: 'T5Config',
  kind: 'encoder-decoder',
  keys: {
    layers: ['num_layers', 'num_hidden_layers'],
    hidden: ['d_model', 'hidden_size'],
    heads: ['num_heads', 'num_attention_heads'],
    headDim: ['d_kv', 'head_dim'],
    ffn: ['d_ff'],
    vocab: ['vocab_size'],
    tiedEmbeddings: ['tie_word_embeddings'],
  },
  defaults: {
    layers: 6,
    hidden: 512,
    heads: 8,
    kvHeads: null,
    headDim: 64,
    ffn: 2048,
    vocab: 32128,
    maxPositions: null,
    ...tied,
    ...noBias,
  },
  always: { gatedMlp: false, positions: 'none', norm: 'rmsnorm', qkNorm: false },
  stacks: { decoderLayers: null, maxSource: null, sourcePositions: 'none', finalNorms: true, relativeBias: 'first' },
};

const bart: Family = {
  configClass: 'BartConfig',
  kind: 'encoder-decoder',
  keys: {
    layers: ['encoder_layers', 'num_hidden_layers'],
    hidden: ['d_model', 'hidden_size'],
    ffn: ['encoder_ffn_dim'],
    heads: ['encoder_attention_heads', 'num_attention_heads'],
    vocab: ['vocab_size'],
    tiedEmbeddings: ['tie_word_embeddings'],
    maxPositions: ['max_position_embeddings'],
  },
  defaults: {
    layers: 12,
    hidden: 1024,
    heads: 16,
    ffn: 4096,
    vocab: 50265,
    maxPositions: 1024,
    ...plainHeads,
    ...tied,
    ...allBias,
  },
  always: gptAlways,
  assumedFields: ['tiedEmbeddings'],
  traits: { unusedPositions: 2, embeddingNorm: true },
  stacks: { decoderLayers: 12, ownSizes: true, maxSource: 'like-target', sourcePositions: 'own', finalNorms: false },
};

const sinusoids = { gatedMlp: false, positions: 'none', norm: 'layernorm', qkNorm: false } as const;

/** Positions that are computed, not learned. */
const marian: Family = {
  ...bart,
  configClass: 'MarianConfig',
  always: sinusoids,
  traits: {},
  stacks: { decoderLayers: 12, ownSizes: true, maxSource: 'like-target', sourcePositions: 'none', finalNorms: false },
};

const pegasus: Family = {
  ...marian,
  configClass: 'PegasusConfig',
  stacks: { decoderLayers: 12, ownSizes: true, maxSource: 'like-target', sourcePositions: 'none', finalNorms: true },
};

/** Tables of sinusoids for source and target: they are not learned, but count. */
const sinusoidTables: Family['small'] = ({ hidden, maxPositions }) => ({ model: 2 * maxPositions * hidden });

const blenderbot = variantOf(
  pegasus,
  'BlenderbotConfig',
  { layers: 2, hidden: 2560, heads: 32, ffn: 10240, vocab: 8008, maxPositions: 128 },
  {
    always: gptAlways,
    stacks: { decoderLayers: 24, ownSizes: true, maxSource: 'like-target', sourcePositions: 'own', finalNorms: true },
  },
);

/** Families that are not decoders. Source: configuration and modelling classes of transformers 4.40 to 5.0. */
export const otherFamilies = {
  bert,
  roberta,
  camembert: { ...roberta, configClass: 'CamembertConfig', defaults: bert.defaults },
  'xlm-roberta': { ...roberta, configClass: 'XLMRobertaConfig', defaults: bert.defaults },
  distilbert: {
    ...bert,
    configClass: 'DistilBertConfig',
    keys: {
      layers: ['n_layers', 'num_hidden_layers'],
      hidden: ['dim', 'hidden_size'],
      heads: ['n_heads', 'num_attention_heads'],
      ffn: ['hidden_dim'],
      vocab: ['vocab_size'],
      tiedEmbeddings: ['tie_word_embeddings'],
      maxPositions: ['max_position_embeddings'],
    },
    defaults: { ...bert.defaults, layers: 6 },
  },
  vit: {
    ...bert,
    configClass: 'ViTConfig',
    keys: {
      layers: ['num_hidden_layers'],
      hidden: ['hidden_size'],
      heads: ['num_attention_heads'],
      ffn: ['intermediate_size'],
      qkvBias: ['qkv_bias'],
    },
    defaults: { ...bert.defaults, vocab: 0, maxPositions: null, tiedEmbeddings: false },
    assumedFields: ['tiedEmbeddings', 'vocab'],
  },
  t5,
  mt5: {
    ...t5,
    configClass: 'MT5Config',
    defaults: { ...t5.defaults, layers: 8, heads: 6, ffn: 1024, vocab: 250112, ...untied },
    always: { ...t5.always, gatedMlp: true },
  },
  umt5: {
    ...t5,
    configClass: 'UMT5Config',
    defaults: { ...t5.defaults, layers: 8, heads: 6, ffn: 1024, vocab: 250112, ...untied },
    always: { ...t5.always, gatedMlp: true },
    stacks: { decoderLayers: null, maxSource: null, sourcePositions: 'none', finalNorms: true, relativeBias: 'every' },
  },
  bart,
  mbart: {
    ...bart,
    configClass: 'MBartConfig',
    stacks: { decoderLayers: 12, ownSizes: true, maxSource: 'like-target', sourcePositions: 'own', finalNorms: true },
  },
  plbart: variantOf(
    bart,
    'PLBartConfig',
    { layers: 6, hidden: 768, heads: 12, ffn: 3072, vocab: 50005 },
    { stacks: { decoderLayers: 6, ownSizes: true, maxSource: 'like-target', sourcePositions: 'own', finalNorms: false } },
  ),
  mvp: variantOf(bart, 'MvpConfig', { vocab: 50267 }),
  blenderbot,
  'blenderbot-small': variantOf(
    bart,
    'BlenderbotSmallConfig',
    { layers: 8, hidden: 512, heads: 16, ffn: 2048, maxPositions: 512 },
    {
      traits: { embeddingNorm: true },
      stacks: { decoderLayers: 8, ownSizes: true, maxSource: 'like-target', sourcePositions: 'own', finalNorms: false },
    },
  ),
  marian: variantOf(marian, 'MarianConfig', { vocab: 58101 }, { small: sinusoidTables }),
  pegasus: { ...pegasus, small: sinusoidTables },
  m2m_100: { ...pegasus, configClass: 'M2M100Config', defaults: { ...bart.defaults, vocab: 128112 } },
  whisper: {
    ...bart,
    configClass: 'WhisperConfig',
    keys: { ...bart.keys, maxPositions: ['max_target_positions'] },
    defaults: { ...bart.defaults, layers: 4, hidden: 384, heads: 6, ffn: 1536, vocab: 51865, maxPositions: 448 },
    traits: {},
    // a table of sinusoids for the source: it is not learned, but counts
    small: ({ hidden, number }) => ({ model: (number('max_source_positions') ?? 1500) * hidden }),
    stacks: {
      decoderLayers: 4,
      ownSizes: true,
      maxSource: 1500,
      sourcePositions: 'none',
      finalNorms: true,
      keyBias: false,
      melBins: 80,
    },
  },
} as const satisfies Readonly<Record<string, Family>>;
