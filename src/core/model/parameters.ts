import type { ModelSpec } from './spec';

/** Weights of one layer by matrix, whole (not divided by tensor parallelism), in elements. */
export interface LayerParameters {
  readonly qkv: number;
  readonly attentionOutput: number;
  /** Of all experts together. */
  readonly mlpUp: number;
  readonly mlpDown: number;
  /** Matrix that scores the experts; 0 in a dense model. Every tensor-parallel rank has it whole. */
  readonly router: number;
  /** Norm weights and all biases: replicated or negligible under tensor parallelism. */
  readonly normsAndBiases: number;
}

/** Parameters of one layer. Source: the weight shapes of the HuggingFace implementations of each family. */
export function layerParameters(model: ModelSpec): LayerParameters {
  const { hidden, heads, kvHeads, headDim, ffn } = model;
  const queryWidth = heads * headDim;
  const qkvWidth = (heads + 2 * kvHeads) * headDim;
  const upWidth = (model.gatedMlp ? 2 : 1) * ffn;
  const networks = model.experts?.count ?? 1;
  const norms = 2 * hidden * (model.norm === 'layernorm' ? 2 : 1) + (model.qkNorm ? 2 * headDim : 0);
  const biases =
    (model.qkvBias ? qkvWidth : 0) + (model.attentionOutputBias ? hidden : 0) + (model.mlpBias ? networks * (upWidth + hidden) : 0);
  return {
    qkv: hidden * qkvWidth,
    attentionOutput: queryWidth * hidden,
    mlpUp: networks * hidden * upWidth,
    mlpDown: networks * ffn * hidden,
    router: model.experts === null ? 0 : hidden * model.experts.count,
    normsAndBiases: norms + biases,
  };
}

/** GEMM weights of one layer: everything but norms and biases. */
export function layerMatrixParameters(model: ModelSpec): number {
  const { qkv, attentionOutput, mlpUp, mlpDown, router } = layerParameters(model);
  return qkv + attentionOutput + mlpUp + mlpDown + router;
}

/** GEMM weights of one layer that one token meets: all but the experts it does not visit. */
function activeMatrixParameters(model: ModelSpec): number {
  if (model.experts === null) return layerMatrixParameters(model);
  const { mlpUp, mlpDown } = layerParameters(model);
  const { count, active } = model.experts;
  return layerMatrixParameters(model) - ((mlpUp + mlpDown) * (count - active)) / count;
}

/** Key/value heads that one rank holds: a share, or one whole head where tensor parallelism has more ranks than there are heads. */
export function keyValueHeadsPerRank({ kvHeads }: ModelSpec, tensor: number): number {
  return Math.max(1, kvHeads / tensor);
}

/** Over how many ranks a layer is divided: its matrices by `tensor`, its experts by `expert` besides. */
export interface LayerDivision {
  readonly tensor: number;
  readonly expert: number;
}

/** GEMM weights of one layer on one rank, its share of the experts included. */
export function rankMatrixParameters(model: ModelSpec, { tensor, expert }: LayerDivision): number {
  const { attentionOutput, mlpUp, mlpDown, router } = layerParameters(model);
  const qkvWidth = (model.heads / tensor + 2 * keyValueHeadsPerRank(model, tensor)) * model.headDim;
  const groups = model.experts === null ? 1 : expert;
  return model.hidden * qkvWidth + (attentionOutput + (mlpUp + mlpDown) / groups) / tensor + router;
}

/** The part of `rankMatrixParameters` that lies in experts: only every `expert`-th replica has the same ones. 0 for a dense model. */
export function rankExpertParameters(model: ModelSpec, { tensor, expert }: LayerDivision): number {
  if (model.experts === null) return 0;
  const { mlpUp, mlpDown } = layerParameters(model);
  return (mlpUp + mlpDown) / expert / tensor;
}

/** Token embedding plus learned positions, elements. */
export function embeddingParameters(model: ModelSpec): number {
  if (model.vocab === 0) return 0;
  const positions = model.positions === 'learned' && model.maxPositions !== null ? model.maxPositions : 0;
  return (model.vocab + positions) * model.hidden;
}

/** All parameters, tied embeddings counted once; equals what the HuggingFace class reports for a causal LM. */
export function parameterCount(model: ModelSpec): number {
  const layer = layerMatrixParameters(model) + layerParameters(model).normsAndBiases;
  const finalNorm = model.hidden * (model.norm === 'layernorm' ? 2 : 1);
  const head = model.vocab === 0 || model.tiedEmbeddings ? 0 : model.vocab * model.hidden;
  return model.layers * layer + finalNorm + embeddingParameters(model) + head;
}

/**
 * Vocabulary padded for even kernels: to a multiple of 128 (Megatron-LM's `--make-vocab-size-divisible-by` default, and what the measured B200 runs used) that the
 * tensor parallel size divides. Megatron-LM itself may pad further, to 128 times that size: under 0.3 % of a 100 k vocabulary.
 */
export function paddedVocab(vocab: number, tensor: number): number {
  const multiple = 128 % tensor === 0 ? 128 : 128 * tensor;
  return Math.ceil(vocab / multiple) * multiple;
}

/**
 * FLOPs the model needs for one sequence, forward and backward, no recompute: 6 per GEMM weight that a token meets (of the experts, the active ones) and token plus attention scores and
 * context over the causal half (PaLM appendix B, with the causal half as in facts on model FLOP utilisation).
 */
export function modelFlopsPerSequence(model: ModelSpec, sequenceLength: number): number {
  const weights = model.layers * activeMatrixParameters(model) + model.vocab * model.hidden;
  const attention = 6 * model.layers * model.heads * model.headDim * sequenceLength;
  return sequenceLength * (6 * weights + attention);
}
