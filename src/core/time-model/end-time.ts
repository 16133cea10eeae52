import { isTrained } from '../domain/adapter';
import { elementBytes } from '../domain/number-formats';
import type { LayerGroup } from '../model/layers';
import { mtpDepths } from '../model/multi-token-prediction';
import { paddedVocab } from '../model/parameters';
import { headAdapterSeconds } from './adapter-time';
import { pipelineLinkSeconds, sendLatencySeconds } from './boundary';
import { allReduceSeconds, gatherSeconds } from './collectives';
import { deviceRates, type CostInputs } from './rates';
import { addOperation, addProduct, emptyTally } from './tally';

/*
 * The ends of the model: embedding, head and loss, multi-token prediction.
 */

/** Which end of the pipeline a stage is. With one stage it is both. */
export interface StageEnds {
  readonly first: boolean;
  readonly last: boolean;
  /** The decoder of an encoder-decoder model begins here. */
  readonly decoderStart?: boolean;
  /** Its layers by kind, in order; absent: all alike. */
  readonly groups?: readonly LayerGroup[];
  /** Part of the head and the loss that it has, where they are spread over stages; absent: all on the last. */
  readonly headShare?: number;
  /** Layers of it that are recomputed whole; absent: as many as of every chunk. */
  readonly recomputed?: number;
}

/** Seconds of an end of the model, `weight` the part of backward that makes gradients of weights. */
export interface EndSeconds {
  readonly forward: number;
  readonly backward: number;
  readonly weight: number;
}

/**
 * What comes before the first layer: the embedding, or the convolutions over sound, which take it in as spectra of twice as many points.
 */
export function startSeconds(inputs: CostInputs, localTokens: number): EndSeconds {
  const melBins = inputs.model.stacks?.melBins;
  if (melBins === undefined) {
    const half = embeddingSeconds(inputs, localTokens) / 2;
    return { forward: half, backward: isTrained(inputs.training, 'embedding') ? half : 0, weight: 0 };
  }
  const { hidden } = inputs.model;
  const rates = deviceRates(inputs);
  const sum = emptyTally();
  addProduct(sum, rates, [2 * localTokens, hidden, 3 * melBins]);
  addProduct(sum, rates, [localTokens, hidden, 3 * hidden]);
  for (const rows of [2 * localTokens, localTokens])
    addOperation(sum, rates.floor, rates.traffic(4 * rows * hidden), rates.traffic(6 * rows * hidden));
  return sum;
}

/**
 * Embedding look-up and its gradient, with the tensor-parallel all-reduce: 12 bytes per element of the hidden states, both directions
 * together, seconds.
 */
export function embeddingSeconds(inputs: CostInputs, localTokens: number): number {
  const { model } = inputs;
  if (model.vocab === 0) return 0;
  const traffic = deviceRates(inputs).traffic(12 * localTokens * model.hidden);
  return traffic + endCollectiveSeconds(inputs, localTokens);
}

/**
 * All-reduce of `localTokens` rows of hidden states, seconds: after the embedding, whose rows tensor-parallel ranks share, and of the
 * head's gradient to its input.
 */
export function endCollectiveSeconds({ model, training, layout, cluster }: CostInputs, localTokens: number): number {
  return allReduceSeconds(elementBytes(training) * localTokens * model.hidden, layout.tensor, cluster);
}

/**
 * Head: logits GEMM forward, two backward (`weight` is the one for the weights), the loss's traffic over the logits (26 bytes an element,
 * 12 fused), and an all-reduce, seconds. `parts`: of one of this many stages that it is spread over.
 */
export function headSeconds(inputs: CostInputs, localTokens: number, parts = 1): EndSeconds {
  const { model, layout, training } = inputs;
  if (model.vocab === 0) return { forward: 0, backward: 0, weight: 0 };
  const { gemm, traffic, floor } = deviceRates(inputs);
  const h = model.hidden;
  const ranks = layout.tensor * parts;
  const columns = paddedVocab(model.vocab, ranks) / ranks;
  const loss = traffic((training.fusedCrossEntropy ? 12 : 26) * localTokens * columns);
  const exchange = endCollectiveSeconds(inputs, localTokens);
  const weight = isTrained(training, 'head') ? Math.max(gemm(h, columns, localTokens), floor) : 0;
  const adapter = headAdapterSeconds(inputs, localTokens, columns);
  return {
    forward: Math.max(gemm(localTokens, columns, h), floor) + adapter.forward + loss / 2,
    backward: Math.max(gemm(localTokens, h, columns), floor) + adapter.backward + weight + loss / 2 + exchange,
    weight: weight + adapter.weight,
  };
}

/** As `tailSeconds` where the head and the loss are spread over stages: a part of them, and on the last stage what further tokens take. */
export function spreadTail(inputs: CostInputs, localTokens: number, { last, headShare = 0 }: StageEnds): EndSeconds {
  const parts = headShare > 0 ? Math.round(1 / headShare) : 1;
  const exchange = spreadHeadSeconds(inputs, localTokens, parts);
  const head = headShare > 0 ? headSeconds(inputs, localTokens, parts) : { forward: 0, backward: 0, weight: 0 };
  const mtp = last ? mtpSeconds(inputs, localTokens, embeddingSeconds(inputs, localTokens), head) : { forward: 0, backward: 0, weight: 0 };
  return {
    forward: head.forward + exchange + mtp.forward,
    backward: head.backward + exchange + mtp.backward,
    weight: head.weight + mtp.weight,
  };
}

/**
 * What a head that is spread over `parts` stages exchanges either way, seconds: the hidden states go from the last stage to all, the
 * gradient comes back as a sum, and so do the largest logit, the sum of exponentials and the label's logit of each token, in fp32.
 */
export function spreadHeadSeconds(inputs: CostInputs, localTokens: number, parts: number): number {
  if (parts <= 1 || inputs.model.vocab === 0) return 0;
  const bytes = (elementBytes(inputs.training) * inputs.model.hidden + 3 * 4) * localTokens;
  return pipelineLinkSeconds(inputs, bytes) + (parts - 1) * sendLatencySeconds;
}

/** The head, and multi-token prediction without its layers. */
export function tailSeconds(inputs: CostInputs, localTokens: number): EndSeconds {
  const head = headSeconds(inputs, localTokens);
  const mtp = mtpSeconds(inputs, localTokens, embeddingSeconds(inputs, localTokens), head);
  return { forward: head.forward + mtp.forward, backward: head.backward + mtp.backward, weight: head.weight + mtp.weight };
}

/**
 * Time of the MTP depths without their layers, for `localTokens` rows of hidden states: two norms, joining, the projection with its
 * exchanges (its input is gathered along the sequence and its output along the columns), the embedding, and the head once more each.
 */
function mtpSeconds(inputs: CostInputs, localTokens: number, embeddingSeconds: number, head: EndSeconds): EndSeconds {
  const depths = mtpDepths(inputs.model);
  if (depths === 0) return { forward: 0, backward: 0, weight: 0 };
  const { model, training, layout, cluster } = inputs;
  const rates = deviceRates(inputs);
  const { traffic, floor } = rates;
  const share = training.sequenceParallel ? 1 / layout.tensor : 1;
  const rows = localTokens * model.hidden * share;
  const sum = emptyTally();
  for (let norm = 0; norm < 2; norm++) addOperation(sum, floor, traffic(4 * rows), traffic(6 * rows));
  addOperation(sum, floor, traffic(8 * rows), traffic(8 * rows));
  addProduct(sum, rates, [localTokens, model.hidden / layout.tensor, 2 * model.hidden], 1, false);
  const bytes = elementBytes(training) * localTokens * model.hidden;
  const input = training.sequenceParallel ? gatherSeconds(2 * bytes, layout.tensor, cluster) : 0;
  const inputGradient = training.sequenceParallel ? 2 * input : allReduceSeconds(2 * bytes, layout.tensor, cluster);
  const output = gatherSeconds(bytes, layout.tensor, cluster);
  return {
    forward: depths * (sum.forward + input + output + embeddingSeconds / 2 + head.forward),
    backward: depths * (sum.backward + inputGradient + embeddingSeconds / 2 + head.backward),
    weight: depths * (sum.weight + head.weight),
  };
}
