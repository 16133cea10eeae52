import type { ModelSpec } from '../model/spec';
import {
  embeddingParameters,
  keyValueHeadsPerRank,
  layerParameters,
  paddedVocab,
  rankExpertParameters,
  rankMatrixParameters,
} from '../model/parameters';
import type { Layout, TrainingSpec } from '../planner/request';
import type { WorkUnit } from '../schedule/schedule';

/*
 * Tensors that Megatron-LM with Transformer Engine keeps, counted one by one. Source: "What a measured peak is made of" (project facts on memory), where the list was worked out against
 * 8-GPU B200 runs; 34 s b h of unfused attention with dropout is Korthikanti et al. 2022 (arXiv 2205.05198), equation 1. A mixture of experts is not refined there: counted are the
 * tensors of Megatron-LM's MoE layer with grouped GEMMs (core 0.12 on, where the router's weights are applied between an expert's two matrices) and balanced tokens.
 */

export const runtimeName = 'Megatron-LM with Transformer Engine';

/** What one stage holds, as far as counting needs it. */
export interface StageShape {
  readonly layers: number;
  readonly first: boolean;
  readonly last: boolean;
}

export interface MemoryInputs {
  readonly model: ModelSpec;
  readonly training: TrainingSpec;
  readonly layout: Layout;
}

/** Parameters of one rank of the stage but for its experts. An untied head, or the last stage's copy of a tied embedding, counts on the last stage. */
function sharedParameters({ model, layout }: MemoryInputs, stage: StageShape): number {
  const { tensor, pipeline } = layout;
  const norm = model.hidden * (model.norm === 'layernorm' ? 2 : 1);
  const padding = (paddedVocab(model.vocab, tensor) - model.vocab) * model.hidden;
  let parameters =
    stage.layers * (rankMatrixParameters(model, layout) - rankExpertParameters(model, layout) + layerParameters(model).normsAndBiases);
  if (stage.first && model.vocab > 0) parameters += (embeddingParameters(model) + padding) / tensor;
  if (stage.last) parameters += norm;
  if (stage.last && model.vocab > 0 && !(model.tiedEmbeddings && pipeline === 1))
    parameters += (model.vocab * model.hidden + padding) / tensor;
  return parameters;
}

export interface StaticBytes {
  readonly weights: number;
  readonly gradients: number;
  readonly optimizer: number;
  /** Transformer Engine >= 2.3: one dummy weight gradient per distinct weight shape, whatever the number of layers. */
  readonly dummyGradients: number;
}

/** Bytes that are always there on one rank. */
export function staticBytes(inputs: MemoryInputs, stage: StageShape): StaticBytes {
  const { model, training, layout } = inputs;
  const shared = sharedParameters(inputs, stage);
  const experts = stage.layers * rankExpertParameters(model, layout);
  const element = weightBytes(training);
  const shards = layout.data * layout.context;
  const expertShards = Math.max(1, shards / layout.expert);
  /** Bytes a parameter, divided from a ZeRO stage on over the replicas that hold the same ones. */
  const held = (bytes: number, fromStage: number): number => {
    const sharded = training.zeroStage >= fromStage;
    return bytes * shared * (sharded ? 1 / shards : 1) + bytes * experts * (sharded ? 1 / expertShards : 1);
  };
  const master = training.precision === 'fp32' ? 0 : 4;
  const state = training.optimizer === 'adam' ? master + 8 : training.optimizer === 'sgd' ? master + 4 : 0;
  return {
    weights: held(element, 3),
    gradients: held(training.fp32Gradients ? 4 : element, 2),
    optimizer: held(state, 1),
    dummyGradients: stage.layers > 0 ? element * distinctParameters(inputs) : 0,
  };
}

/** Weights of each distinct shape once: the experts of a layer are alike, and its router is no module of Transformer Engine. */
function distinctParameters({ model, layout }: MemoryInputs): number {
  const matrices = rankMatrixParameters(model, layout);
  if (model.experts === null) return matrices;
  const experts = rankExpertParameters(model, layout);
  return matrices - layerParameters(model).router - experts + (experts * layout.expert) / model.experts.count;
}

/** Bytes saved by the forward of one work unit until its backward, on one rank of the stage. */
export interface SavedBytes {
  readonly activations: number;
  /** Contiguous keys and values kept for the later slices of the same sequences; 0 for whole sequences. */
  readonly keysValues: number;
  /** Logits and the final norm's input and output, on the last stage; freed by the head's backward, before the layers'. */
  readonly logits: number;
}

export function savedBytes(inputs: MemoryInputs, stage: StageShape, unit: WorkUnit, sliced: boolean): SavedBytes {
  const tokens = localTokens(inputs, unit);
  const { model, training, layout } = inputs;
  const element = weightBytes(training);
  const perLayer = training.recompute === 'full' ? element * tokens * model.hidden * hiddenShare(inputs) : layerSavedBytes(inputs, unit);
  const head = hasHead(inputs, stage);
  const finalNorm = head ? 2 * element * tokens * model.hidden * hiddenShare(inputs) : 0;
  const vocab = paddedVocab(model.vocab, layout.tensor) / layout.tensor;
  return {
    activations: stage.layers * perLayer,
    keysValues: sliced ? stage.layers * keyValueBytes(inputs, tokens) : 0,
    logits: head ? finalNorm + tokens * vocab * (training.fusedCrossEntropy ? element : element + 8) : 0,
  };
}

/**
 * How many times the activations of plain 1F1B interleaved 1F1B holds on stage r, for where its order is not at hand: it starts 2 (p - r - 1) + (v - 1) p chunks ahead (Megatron-LM), so holds
 * p + (p - 1 - 2 r) / v micro-batches instead of p - r. On stage 0 that is 1 + (p-1)/(p v) (arXiv 2205.05198, section 4.2.1).
 */
export function interleavingFactor({ pipeline, virtualStages }: Layout, stage: number, microBatches: number): number {
  if (virtualStages === 1) return 1;
  const held = pipeline + (pipeline - 1 - 2 * stage) / virtualStages;
  return Math.min(microBatches, held) / Math.min(microBatches, pipeline - stage);
}

/** Keys and values of `tokens` tokens in one layer. */
export function keyValueBytes({ model, training, layout }: MemoryInputs, tokens: number): number {
  return weightBytes(training) * 2 * keyValueHeadsPerRank(model, layout.tensor) * model.headDim * tokens;
}

/** What one operation of a backward pass holds beyond everything saved. */
export interface BackwardOperation {
  readonly name: string;
  readonly bytes: number;
}

/** Bytes of the tensors that backward operations of one layer handle, on one rank. */
export interface LayerSizes {
  /** Hidden states of all tokens of the rank, gathered over tensor-parallel ranks. */
  readonly hidden: number;
  /** The same where sequence parallelism makes gathering necessary, else 0: the tensor is there anyway. */
  readonly gathered: number;
  /** As `hidden`, but split where sequence parallelism splits it. */
  readonly share: number;
  /** Hidden states once per visited expert; 0 for a dense model. */
  readonly permuted: number;
  /** Input of the second feed-forward matrix, output of the first (both up projections). */
  readonly activated: number;
  readonly up: number;
  readonly query: number;
  readonly keysValues: number;
  /** Gradients of unfused attention's scores. */
  readonly scores: number;
  /** What recompute brings back before the layer's backward. */
  readonly recreated: number;
}

export function layerSizes(inputs: MemoryInputs, unit: WorkUnit): LayerSizes {
  const { model, training, layout } = inputs;
  const t = layout.tensor;
  const element = weightBytes(training);
  const tokens = localTokens(inputs, unit);
  const hidden = element * tokens * model.hidden;
  const activated = (element * tokens * visitsPerToken(model) * model.ffn) / t;
  return {
    hidden,
    gathered: t > 1 && training.sequenceParallel ? hidden : 0,
    share: hidden * hiddenShare(inputs),
    permuted: model.experts === null ? 0 : hidden * model.experts.active,
    activated,
    up: model.gatedMlp ? 2 * activated : activated,
    query: (element * tokens * model.heads * model.headDim) / t,
    keysValues: keyValueBytes(inputs, tokens),
    scores: training.attention === 'unfused' ? 2 * element * scoreCells(inputs, unit) : 0,
    recreated: recreatedBytes(inputs, unit),
  };
}

/** The operations of a layer's backward that can make the peak, each with what it holds besides the saved tensors. */
export function layerBackwardOperations(inputs: MemoryInputs, stage: StageShape, unit: WorkUnit): BackwardOperation[] {
  if (stage.layers === 0) return [];
  const { gathered, share, permuted, activated, up, query, keysValues, scores, recreated } = layerSizes(inputs, unit);
  return [
    { name: 'second feed-forward backward', bytes: recreated + (permuted > 0 ? permuted : gathered) + activated },
    { name: 'activation backward', bytes: recreated + up + share },
    { name: 'first feed-forward backward', bytes: recreated + up + (permuted > 0 ? permuted : 2 * gathered) },
    ...(permuted > 0 && inputs.layout.expert > 1 ? [{ name: 'expert exchange backward', bytes: recreated + 2 * permuted }] : []),
    { name: 'attention backward', bytes: recreated + 2 * query + keysValues + scores },
  ];
}

/** The head's backward: gradient of its input, the input gathered over tensor-parallel ranks, a dummy gradient of its weight. Zero bytes where there is no head. */
export function headBackward(inputs: MemoryInputs, stage: StageShape, unit: WorkUnit): BackwardOperation {
  const { hidden, gathered } = layerSizes(inputs, unit);
  return { name: 'head backward', bytes: hasHead(inputs, stage) ? hidden + gathered + vocabularyBytes(inputs) : 0 };
}

/** The embedding's gradient, at the end of a work unit's backward, when its saved tensors are already free. */
export function embeddingBackwardBytes(inputs: MemoryInputs, stage: StageShape): number {
  return stage.first && inputs.model.vocab > 0 ? vocabularyBytes(inputs) : 0;
}

export function hasHead({ model }: MemoryInputs, stage: StageShape): boolean {
  return stage.last && model.vocab > 0;
}

/** One matrix hidden x vocabulary on one rank: the head's or the embedding's gradient. */
export function vocabularyBytes({ model, training, layout }: MemoryInputs): number {
  return (weightBytes(training) * paddedVocab(model.vocab, layout.tensor) * model.hidden) / layout.tensor;
}

/** Recompute re-creates one layer's set (full) or one layer's attention scores (selective) at its backward. */
function recreatedBytes(inputs: MemoryInputs, unit: WorkUnit): number {
  const { training } = inputs;
  if (training.recompute === 'none') return 0;
  return training.recompute === 'full'
    ? layerSavedBytes({ ...inputs, training: { ...training, recompute: 'none' } }, unit)
    : scoreBytes(inputs, unit);
}

function layerSavedBytes(inputs: MemoryInputs, unit: WorkUnit): number {
  const { model, training, layout } = inputs;
  const t = layout.tensor;
  const element = weightBytes(training);
  const query = (model.heads / t) * model.headDim;
  const qkv = query + 2 * keyValueHeadsPerRank(model, t) * model.headDim;
  const rotaryCopy = model.positions === 'rotary' ? qkv : 0;
  const logSumExp = training.attention === 'flash' ? (4 * model.heads) / t : 0;
  // layer input, norm 1 output, residual, norm 2 output; two one-byte dropout masks
  const hiddenSized = model.hidden * hiddenShare(inputs) * (4 * element + (training.dropout ? 2 : 0));
  const mlp = (visitsPerToken(model) * (model.gatedMlp ? 3 : 2) * model.ffn) / t;
  const split = element * (qkv + rotaryCopy + query + mlp);
  const scores = training.recompute === 'selective' ? 0 : scoreBytes(inputs, unit);
  return localTokens(inputs, unit) * (hiddenSized + split + logSumExp + routedBytes(inputs)) + scores;
}

/**
 * Saved per token by the routing of one layer: the permuted input of the experts, one row a visit on every tensor-parallel rank, and the router's logits and their
 * probabilities in fp32. 0 for a dense model.
 */
function routedBytes(inputs: MemoryInputs): number {
  const { model, training } = inputs;
  if (model.experts === null) return 0;
  const element = weightBytes(training);
  return element * model.experts.active * model.hidden + (element + 4) * model.experts.count * hiddenShare(inputs);
}

/** Feed-forward networks that a token passes; balanced, a rank sees as many visits whatever the expert-parallel size. */
function visitsPerToken({ experts }: ModelSpec): number {
  return experts?.active ?? 1;
}

/** Saved attention scores of one layer without fused attention: softmax output, and with dropout its mask and output. */
function scoreBytes(inputs: MemoryInputs, unit: WorkUnit): number {
  if (inputs.training.attention === 'flash') return 0;
  const element = weightBytes(inputs.training);
  return scoreCells(inputs, unit) * (inputs.training.dropout ? 2 * element + 1 : element);
}

/** Cells of the attention matrices of one layer on one rank: heads x queries x keys. */
function scoreCells({ model, layout }: MemoryInputs, unit: WorkUnit): number {
  return (unit.batch * model.heads * unit.tokens * (unit.tokens + unit.context)) / layout.tensor / layout.context;
}

export function localTokens({ layout }: MemoryInputs, unit: WorkUnit): number {
  return (unit.batch * unit.tokens) / layout.context;
}

/** Sequence parallelism splits what lies outside attention and feed-forward over the tensor-parallel ranks. */
function hiddenShare({ training, layout }: MemoryInputs): number {
  return training.sequenceParallel ? 1 / layout.tensor : 1;
}

/** Bytes of one element in the training precision. */
export function weightBytes(training: TrainingSpec): number {
  return training.precision === 'fp32' ? 4 : 2;
}
