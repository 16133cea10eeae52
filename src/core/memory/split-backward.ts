import { paddedVocab } from '../model/parameters';
import type { WorkUnit } from '../schedule/schedule';
import {
  hasHead,
  layerSizes,
  localTokens,
  vocabularyBytes,
  weightBytes,
  type BackwardOperation,
  type MemoryInputs,
  type StageShape,
} from './runtime';

/*
 * What a backward in two halves holds (zero-bubble schedules, arXiv 2401.10241). The input gradient frees everything saved but the inputs of matrix products, and leaves the gradient of each
 * product's output; both wait for the weight gradient. Which tensors those are: Transformer Engine's delayed weight gradients (`wgrad_store.put([inputmat_total, grad_output])`, 2.x), which
 * keep them gathered over tensor-parallel ranks. The head waits the same way (sail-sg/zero-bubble); the router of experts, no module of Transformer Engine, and the embedding do not.
 */

/** One matrix product of a layer: bytes of its input and of its output's gradient on one rank, gathered. */
export interface MatrixProduct {
  readonly name: string;
  readonly input: number;
  readonly outputGradient: number;
}

/** The matrix products of one layer whose weight gradients can wait: 32 s b h bytes together for a GPT layer on one rank (arXiv 2401.10241, Table 1). */
export function matrixProducts(inputs: MemoryInputs, unit: WorkUnit): MatrixProduct[] {
  const { hidden, permuted, activated, up, query, keysValues } = layerSizes(inputs, unit);
  const rows = permuted > 0 ? permuted : hidden;
  return [
    { name: 'queries, keys and values', input: hidden, outputGradient: query + keysValues },
    { name: 'attention output', input: query, outputGradient: hidden },
    { name: 'first feed-forward', input: rows, outputGradient: up },
    { name: 'second feed-forward', input: activated, outputGradient: rows },
  ];
}

/** Kept from the end of a unit's input gradient to the end of its weight gradient, on one rank: of one layer, and of the head. */
export function keptForWeights(inputs: MemoryInputs, chunk: StageShape, unit: WorkUnit): { readonly layer: number; readonly head: number } {
  const layer = matrixProducts(inputs, unit).reduce((bytes, { input, outputGradient }) => bytes + input + outputGradient, 0);
  if (!hasHead(inputs, chunk)) return { layer, head: 0 };
  const { model, training, layout } = inputs;
  const logits = (weightBytes(training) * localTokens(inputs, unit) * paddedVocab(model.vocab, layout.tensor)) / layout.tensor;
  return { layer, head: layerSizes(inputs, unit).hidden + logits };
}

/**
 * The operations of a layer's input gradient that can make the peak, each with what it holds besides what the layer saved: as in a whole backward, but inputs and output gradients of
 * matrix products stay. From the activation on, the gradient of the first feed-forward's output has taken the place of that output.
 */
export function layerInputGradientOperations(inputs: MemoryInputs, unit: WorkUnit): BackwardOperation[] {
  const { hidden, gathered, permuted, activated, up, query, keysValues, scores, recreated } = layerSizes(inputs, unit);
  const rows = permuted > 0 ? permuted : hidden;
  const input = permuted > 0 ? 0 : gathered;
  const kept = recreated + rows;
  return [
    { name: 'second feed-forward backward', bytes: kept + activated },
    { name: 'activation backward', bytes: kept + activated + up },
    { name: 'first feed-forward backward', bytes: kept + input + rows },
    ...(permuted > 0 && inputs.layout.expert > 1 ? [{ name: 'expert exchange backward', bytes: kept + 2 * permuted }] : []),
    { name: 'attention backward', bytes: kept + input + hidden + 2 * query + keysValues + scores },
  ];
}

/** Held by the head's input gradient besides the saved tensors: the gradient of its input, and the input gathered. */
export function headInputGradientBytes(inputs: MemoryInputs, chunk: StageShape, unit: WorkUnit): number {
  const { hidden, gathered } = layerSizes(inputs, unit);
  return hasHead(inputs, chunk) ? hidden + gathered : 0;
}

/** Held by the head's weight gradient besides what was kept for it: a dummy gradient. */
export function headWeightGradientBytes(inputs: MemoryInputs, chunk: StageShape): number {
  return hasHead(inputs, chunk) ? vocabularyBytes(inputs) : 0;
}
