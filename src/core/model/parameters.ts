import type { ModelSpec } from './spec';

/** Weights of one layer by matrix, whole (not divided by tensor parallelism), in elements. */
export interface LayerParameters {
  readonly qkv: number;
  readonly attentionOutput: number;
  readonly mlpUp: number;
  readonly mlpDown: number;
  /** Norm weights and all biases: replicated or negligible under tensor parallelism. */
  readonly normsAndBiases: number;
}

/** Parameters of one layer. Source: the weight shapes of the HuggingFace implementations of each family. */
export function layerParameters(model: ModelSpec): LayerParameters {
  const { hidden, heads, kvHeads, headDim, ffn } = model;
  const queryWidth = heads * headDim;
  const qkvWidth = (heads + 2 * kvHeads) * headDim;
  const upWidth = (model.gatedMlp ? 2 : 1) * ffn;
  const norms = 2 * hidden * (model.norm === 'layernorm' ? 2 : 1) + (model.qkNorm ? 2 * headDim : 0);
  const biases = (model.qkvBias ? qkvWidth : 0) + (model.attentionOutputBias ? hidden : 0) + (model.mlpBias ? upWidth + hidden : 0);
  return {
    qkv: hidden * qkvWidth,
    attentionOutput: queryWidth * hidden,
    mlpUp: hidden * upWidth,
    mlpDown: ffn * hidden,
    normsAndBiases: norms + biases,
  };
}

/** GEMM weights of one layer: everything but norms and biases. */
export function layerMatrixParameters(model: ModelSpec): number {
  const { qkv, attentionOutput, mlpUp, mlpDown } = layerParameters(model);
  return qkv + attentionOutput + mlpUp + mlpDown;
}

/** Key/value heads that one rank holds: a share, or one whole head where tensor parallelism has more ranks than there are heads. */
export function keyValueHeadsPerRank({ kvHeads }: ModelSpec, tensor: number): number {
  return Math.max(1, kvHeads / tensor);
}

/** GEMM weights of one layer on one tensor-parallel rank. */
export function rankMatrixParameters(model: ModelSpec, tensor: number): number {
  const { attentionOutput, mlpUp, mlpDown } = layerParameters(model);
  const qkvWidth = (model.heads / tensor + 2 * keyValueHeadsPerRank(model, tensor)) * model.headDim;
  return model.hidden * qkvWidth + (attentionOutput + mlpUp + mlpDown) / tensor;
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
 * FLOPs the model needs for one sequence, forward and backward, no recompute: 6 per GEMM weight and token plus attention scores and
 * context over the causal half (PaLM appendix B, with the causal half as in facts on model FLOP utilisation).
 */
export function modelFlopsPerSequence(model: ModelSpec, sequenceLength: number): number {
  const weights = model.layers * layerMatrixParameters(model) + model.vocab * model.hidden;
  const attention = 6 * model.layers * model.heads * model.headDim * sequenceLength;
  return sequenceLength * (6 * weights + attention);
}
