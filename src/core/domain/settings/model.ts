import { sentence } from '../../sentence';
import { boolean, count, flag, integer, choiceRule, orNull, text, amount, valueOf } from './rules';
import type { RopeScaling } from '../model';
import { mostLayers, mostRanks, mostWidth, type SettingTable } from './setting';

/** Sizes of a model and what its layers have. Widths in elements, lengths in tokens. */
export const modelSizes = {
  modelType: {
    read: text,
    meaning: sentence`Model family: which parts a layer has, and the defaults of what its file leaves out.`,
  },
  /** TorchTitan and Bridge name a flavour whose sizes live in Python. */
  flavor: {
    read: text,
    meaning: sentence`Names a set of sizes that lives in Python code: layers and widths are not in this file.`,
  },
  layers: {
    type: integer(1, mostLayers),
    meaning: sentence`Layers are assigned to pipeline stages in order; a stage takes as long as its layers together.`,
    fieldNames: ['numlayers'],
  },
  hidden: {
    type: integer(1, 1_000_000),
    meaning: sentence`Width of activations: P2P transfers grow with it, the time of a layer with its square.`,
    fieldNames: ['hiddensize'],
  },
  heads: {
    type: integer(1, mostRanks),
    meaning: sentence`Attention heads are split over tensor-parallel GPUs: must be divisible by the tensor size.`,
    fieldNames: ['numattentionheads'],
  },
  kvHeads: {
    type: integer(1, mostRanks),
    meaning: sentence`Key/value heads; fewer than heads means grouped-query attention and a smaller KV cache.`,
    fieldNames: ['numquerygroups', 'numkeyvalueheads'],
  },
  headDim: { type: integer(1, 100_000), meaning: sentence`Width of one attention head.` },
  /** Width of one matrix of the dense feed-forward. */
  ffn: {
    type: integer(1, mostWidth),
    meaning: sentence`Width of the feed-forward block, where most of the time of a layer goes.`,
    fieldNames: ['ffnhiddensize', 'intermediatesize'],
  },
  gatedMlp: {
    type: boolean,
    meaning: sentence`Whether the feed-forward block has a gate and an up projection (SwiGLU): a third matrix.`,
  },
  /** 0: the model has neither embedding nor head. */
  vocab: {
    type: integer(0, 100_000_000),
    meaning: sentence`The first stage has the embedding, the last the head: both take more time and memory.`,
    fieldNames: ['vocabsize'],
  },
  vocabDivisor: {
    read: amount,
    meaning: sentence`The vocabulary is padded to a multiple of this times the tensor size.`,
  },
  maxPositions: { type: orNull(integer(1, 1_000_000_000)), meaning: sentence`Longest sequence that the positions allow.` },
  tiedEmbeddings: {
    type: boolean,
    meaning: sentence`Whether the head shares its weights with the embedding; in a pipeline both ends keep a copy.`,
  },
  positions: {
    type: choiceRule(['learned', 'rotary', 'none']),
    meaning: sentence`Position encoding: learned positions are weights of the first stage; rotary ones store nothing.`,
  },
  rotaryBase: { read: amount, meaning: sentence`Base of the frequencies of rotary positions; costs no time or memory.` },
  rotaryShare: { read: amount, meaning: sentence`Share of each head that is rotated; costs almost no time or memory.` },
  ropeScaling: {
    read: valueOf<RopeScaling>(),
    meaning: sentence`How rotary positions are scaled to longer sequences; costs no time or memory.`,
  },
  norm: {
    type: choiceRule(['layernorm', 'rmsnorm']),
    meaning: sentence`Kind of the norms of every layer. RMS norm has no bias and is a little faster.`,
  },
  normEpsilon: { read: amount, meaning: sentence`Added to the variance in every norm; costs no time or memory.` },
  bias: { read: flag, meaning: sentence`Whether linear layers add a bias; costs almost no time or memory.` },
  qkvBias: { type: boolean, meaning: sentence`Whether the projections of queries, keys and values add a bias.` },
  attentionOutputBias: { key: boolean, meaning: sentence`Whether the projection of attention's output adds a bias.` },
  mlpBias: { key: boolean, read: flag, meaning: sentence`Whether the projections of the feed-forward block add a bias.` },
  attentionSinks: { read: flag, meaning: sentence`A learned sink of each head, which takes a share of its attention.` },
  qkNorm: { type: boolean, meaning: sentence`Whether queries and keys are normed in every head before attention.` },
} as const satisfies SettingTable;

/** Experts between which a router chooses, and multi-head latent attention, which models with experts have. */
export const expertSizes = {
  experts: {
    type: orNull(integer(1, mostRanks)),
    meaning: sentence`Experts of every MoE layer; a router picks a few for each token. All of them are held in memory.`,
    fieldNames: ['numexperts'],
  },
  /** Experts that are not counted here: their number by layer where it differs, or `residual`. */
  unlikeExperts: {
    read: text,
    meaning: sentence`Experts whose number differs by layer, or in addition to a dense network: read, not planned.`,
  },
  activeExperts: {
    type: orNull(integer(1, mostRanks)),
    meaning: sentence`Experts per token (top-k). The time of a layer grows with it, weight memory does not.`,
  },
  expertFfn: { type: orNull(integer(1, mostWidth)), meaning: sentence`Width of the feed-forward block of one expert.` },
  sharedExperts: { read: count(mostRanks), meaning: sentence`Shared experts: every token visits them in addition to the routed ones.` },
  /** Where the file gives that instead of their number. */
  sharedExpertFfn: { read: count(mostWidth), meaning: sentence`Width of the feed-forward block of the shared experts together.` },
  sharedExpertGate: { read: flag, meaning: sentence`Whether a gate weighs the shared experts.` },
  routerBias: { read: flag, meaning: sentence`Whether the router adds a bias to its logits.` },
  /** Width that tokens are projected to before they are sent, and back from after. */
  expertLatent: { read: amount, meaning: sentence`Width that tokens are compressed to for the experts.` },
  routerGroups: { read: count(mostRanks), meaning: sentence`Groups of experts, for routing.` },
  routerGroupTopk: { read: amount, meaning: sentence`Maximum expert groups per token; limits the nodes that it is sent to.` },
  firstDenseLayers: {
    read: count(mostLayers),
    meaning: sentence`Layers at the start without experts: the first stage is lighter than the others.`,
  },
  /** Where the file lists them, from 0. */
  denseLayers: {
    read: valueOf<readonly number[]>(),
    meaning: sentence`Layers without experts: stages that hold them are lighter than the others.`,
  },
  /** As written: a period, or a Python list expression such as `([0]*3+[1]*11)`. */
  moeLayerFrequency: {
    read: text,
    meaning: sentence`Which layers have experts. Stages with more of them take longer and hold more.`,
  },
  decoderSparseStep: { read: amount, meaning: sentence`Every n-th layer has experts.` },
  latentAttention: { read: flag, meaning: sentence`Multi-head latent attention: keys and values are kept compressed.` },
  qLoraRank: { read: amount, meaning: sentence`Rank of the compressed queries of latent attention.` },
  kvLoraRank: {
    read: amount,
    meaning: sentence`Rank of the compressed keys and values of latent attention: what is kept for later tokens.`,
  },
  qkNopeHeadDim: { read: amount, meaning: sentence`Dimensions of a query or key head without rotary position embedding.` },
  qkRopeHeadDim: { read: amount, meaning: sentence`Dimensions of a query or key head with rotary position embedding.` },
  vHeadDim: { read: amount, meaning: sentence`Width of one value head.` },
} as const satisfies SettingTable;
