import { allBias, bertKeys, gptAlways, makeFamily, deriveFamily, untied, type Family } from './family';

const bert: Family = makeFamily('BertConfig', {
  kind: 'encoder',
  keys: bertKeys,
  defaults: allBias,
  always: gptAlways,
  assumedFields: ['tiedEmbeddings'],
});

const roberta: Family = deriveFamily(bert, 'RobertaConfig');

const t5: Family = makeFamily('T5Config', {
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
  defaults: { tiedEmbeddings: true },
  always: { gatedMlp: false, positions: 'none', norm: 'rmsnorm', qkNorm: false },
  stacks: { decoderLayers: null, maxSource: null, sourcePositions: 'none', finalNorms: true, relativeBias: 'first' },
});

const bart: Family = makeFamily('BartConfig', {
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
  defaults: allBias,
  always: gptAlways,
  assumedFields: ['tiedEmbeddings'],
  traits: { unusedPositions: 2, embeddingNorm: true },
  stacks: { decoderLayers: 12, ownSizes: true, maxSource: 'like-target', sourcePositions: 'own', finalNorms: false },
});

const sinusoids = { gatedMlp: false, positions: 'none', norm: 'layernorm', qkNorm: false } as const;

/** Positions that are computed, not learned. */
const marian: Family = deriveFamily(bart, 'MarianConfig', {
  always: sinusoids,
  traits: {},
  stacks: { decoderLayers: 12, ownSizes: true, maxSource: 'like-target', sourcePositions: 'none', finalNorms: false },
});

const pegasus: Family = deriveFamily(marian, 'PegasusConfig', {
  stacks: { decoderLayers: 12, ownSizes: true, maxSource: 'like-target', sourcePositions: 'none', finalNorms: true },
});

/** Tables of sinusoids for source and target: they are not learned, but count. */
const sinusoidTables: Family['small'] = ({ hidden, maxPositions }) => ({ model: 2 * maxPositions * hidden });

const blenderbot = deriveFamily(pegasus, 'BlenderbotConfig', {
  always: gptAlways,
  stacks: { decoderLayers: 24, ownSizes: true, maxSource: 'like-target', sourcePositions: 'own', finalNorms: true },
});

/** Families that are not decoders. Source: configuration and modelling classes of transformers 4.40 to 5.0. */
export const otherFamilies = {
  bert,
  roberta,
  camembert: deriveFamily(roberta, 'CamembertConfig'),
  'xlm-roberta': deriveFamily(roberta, 'XLMRobertaConfig'),
  distilbert: deriveFamily(bert, 'DistilBertConfig', {
    keys: {
      layers: ['n_layers', 'num_hidden_layers'],
      hidden: ['dim', 'hidden_size'],
      heads: ['n_heads', 'num_attention_heads'],
      ffn: ['hidden_dim'],
      vocab: ['vocab_size'],
      tiedEmbeddings: ['tie_word_embeddings'],
      maxPositions: ['max_position_embeddings'],
    },
  }),
  vit: deriveFamily(bert, 'ViTConfig', {
    keys: {
      layers: ['num_hidden_layers'],
      hidden: ['hidden_size'],
      heads: ['num_attention_heads'],
      ffn: ['intermediate_size'],
      qkvBias: ['qkv_bias'],
    },
    assumedFields: ['tiedEmbeddings', 'vocab'],
  }),
  t5,
  mt5: deriveFamily(t5, 'MT5Config', { defaults: untied, always: { ...t5.always, gatedMlp: true } }),
  umt5: deriveFamily(t5, 'UMT5Config', {
    always: { ...t5.always, gatedMlp: true },
    stacks: { decoderLayers: null, maxSource: null, sourcePositions: 'none', finalNorms: true, relativeBias: 'every' },
  }),
  bart,
  mbart: deriveFamily(bart, 'MBartConfig', {
    stacks: { decoderLayers: 12, ownSizes: true, maxSource: 'like-target', sourcePositions: 'own', finalNorms: true },
  }),
  plbart: deriveFamily(bart, 'PLBartConfig', {
    stacks: { decoderLayers: 6, ownSizes: true, maxSource: 'like-target', sourcePositions: 'own', finalNorms: false },
  }),
  mvp: deriveFamily(bart, 'MvpConfig'),
  blenderbot,
  'blenderbot-small': deriveFamily(bart, 'BlenderbotSmallConfig', {
    traits: { embeddingNorm: true },
    stacks: { decoderLayers: 8, ownSizes: true, maxSource: 'like-target', sourcePositions: 'own', finalNorms: false },
  }),
  marian: deriveFamily(marian, 'MarianConfig', { small: sinusoidTables }),
  pegasus: { ...pegasus, small: sinusoidTables },
  m2m_100: deriveFamily(pegasus, 'M2M100Config'),
  whisper: deriveFamily(bart, 'WhisperConfig', {
    keys: { ...bart.keys, maxPositions: ['max_target_positions'] },
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
  }),
} as const satisfies Readonly<Record<string, Family>>;
