import { elementBytes } from '../domain/number-formats';
import { mtpDepths } from '../model/multi-token-prediction';
import { allReduceSeconds, gatherSeconds } from './collectives';
import { deviceRates, type CostInputs } from './rates';
import { addOperation, addProduct, emptyTally } from './tally';

/** Seconds of an end of the model, `weight` the part of backward that makes gradients of weights. */
export interface EndSeconds {
  readonly forward: number;
  readonly backward: number;
  readonly weight: number;
}

/**
 * Time of the MTP depths without their layers, for `localTokens` rows of hidden states: two norms, joining, the projection with its
 * exchanges (its input is gathered along the sequence and its output along the columns), the embedding, and the head once more each.
 */
export function mtpSeconds(inputs: CostInputs, localTokens: number, embeddingSeconds: number, head: EndSeconds): EndSeconds {
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
