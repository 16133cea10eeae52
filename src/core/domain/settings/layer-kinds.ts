import { sentence } from '../../sentence';
import type { StateKind } from '../model';
import { amount, count, flag, integer, orNull, text, texts, valueOf } from './rules';
import { mostLayers, mostRanks, type SettingTable } from './setting';

/** In what the layers of a model differ: windows, encoder and decoder, layers with a state, layers that predict further tokens. */
export const layerKinds = {
  /** Depths that predict further tokens and are trained along; absent: as many as the model's config has. */
  mtpLayers: {
    read: count(100),
    key: integer(0, 100),
    keySection: 'training',
    meaning: sentence`Multi-token prediction (MTP) layers. They sit on the last stage; each runs the head once more.`,
  },
  slidingWindow: {
    read: amount,
    meaning: sentence`Sliding window in tokens: attention costs nothing beyond it, so later token slices are cheaper.`,
  },
  slidingWindowActive: { read: flag, meaning: sentence`Whether the sliding window is in use.` },
  /** Megatron's `--window-attn-skip-freq`, as written. */
  windowFrequency: {
    read: text,
    meaning: sentence`Which layers have the sliding window: all but every n-th, or a list of ones and zeros.`,
  },
  /** In Hugging Face's names: `full_attention`, `sliding_attention`, `chunked_attention`, `cross_attention`, `linear_attention`... */
  attentionKinds: {
    read: texts,
    meaning: sentence`Kind of attention of every layer, in order: stages with more full attention take longer.`,
  },
  /** Of `layers`, the first ones; null: only a decoder. */
  encoderLayers: {
    read: count(mostLayers),
    key: orNull(integer(1, mostLayers)),
    meaning: sentence`Encoder layers come first; the decoder attends to their output, which is sent along with its own.`,
  },
  decoderLayers: { read: count(mostLayers), meaning: sentence`Layers of the decoder.` },
  /** Letters of Megatron-LM, one a layer, as written. */
  hybridPattern: {
    read: text,
    sets: ['stageLayers', 'virtualStages'],
    meaning: sentence`Kind of every layer of a hybrid model; stages differ in time by what they hold.`,
  },
  hybridAttentionRatio: { read: amount, meaning: sentence`Share of the layers that attend, spread evenly between the others.` },
  hybridMlpRatio: { read: amount, meaning: sentence`Share of the layers that are only a feed-forward network.` },
  /** Megatron's `--linear-attention-freq`, as written. */
  linearAttentionFrequency: {
    read: text,
    meaning: sentence`Which layers have linear attention: all but every n-th, or a list of ones and zeros.`,
  },
  outputGate: {
    read: flag,
    meaning: sentence`Whether the output of attention is gated; the gate is projected with the queries.`,
  },
  /** Sizes of the layers with a state: see `StateMixer`. */
  stateKind: {
    read: valueOf<StateKind>(),
    meaning: sentence`Kind of the SSM or linear-attention layers: a token slice takes the same time at any position.`,
  },
  stateHeads: { read: count(mostRanks), meaning: sentence`Heads of the SSM: tensor parallelism divides them.` },
  stateHeadDim: { read: count(100_000), meaning: sentence`Values of one head of the SSM.` },
  stateDim: { read: count(1_000_000), meaning: sentence`SSM state size: elements for each value of a head.` },
  stateGroups: {
    read: count(mostRanks),
    meaning: sentence`Groups of heads that share B and C: tensor parallelism divides them too.`,
  },
  stateStepRank: { read: amount, meaning: sentence`Rank of the projection to step sizes.` },
  stateConvolution: { read: amount, meaning: sentence`Tokens that the convolution before the SSM spans.` },
} as const satisfies SettingTable;
