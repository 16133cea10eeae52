import { wholeLayers } from '../domain/recompute';
import { timeFunction } from '../measured-profile/fit';
import type { Profile } from '../domain/profile';
import { launchedFit } from './launches';
import { cachedBySlice, collectiveSeconds, layerTime } from './layer-time';
import type { CostInputs } from './rates';
import type { MeasuredCost, SliceCost } from '../domain/slice-cost';
import { embeddingSeconds, endCollectiveSeconds, headSeconds, spreadHeadSeconds, type StageEnds } from './end-time';

/**
 * Cost of a slice on one stage from a profile of its layer: measured times of a layer times the number of layers, measured embedding and
 * head on the ends, and the analytic model's exchanges between tensor- and expert-parallel ranks, which one GPU cannot measure. Recompute
 * `full` adds the layer's forward to its backward; `selective` the share of the forward that the analytic model gives the unfused attention
 * core.
 *
 * @param layers layers of the stage. Where the profile has no fit for embedding or head, the analytic model gives their cost.
 * @throws Error for a profile without a fit: `profileMismatch` refuses it before.
 */
export function profiledStageCost(inputs: CostInputs, profile: Profile, layers: number, ends: StageEnds): MeasuredCost {
  const { fit } = profile;
  if (fit === null) throw new Error('a profile without a fit has no cost');
  const layer = launchedFit(fit.layer, profile, inputs.training);
  const forward = timeFunction(layer.forward);
  const backward = timeFunction(layer.backward);
  const exchange = cachedBySlice((batch, tokens) => collectiveSeconds(inputs, batch * tokens));
  const { recompute } = inputs.training;
  const analytic = recompute === 'selective' ? layerTime(inputs) : null;
  const again = (batch: number, tokens: number, context: number, forwardMs: number): number => {
    if (recompute === 'full') return layers === 0 ? 0 : (forwardMs * wholeLayers(inputs.training, { ...ends, layers })) / layers;
    if (analytic === null) return 0;
    const { selective, forward: whole } = analytic(batch, tokens, context);
    return (forwardMs * selective) / whole;
  };
  const endMs = cachedBySlice((batch, tokens) => endTimes(inputs, fit, ends, batch, tokens));
  return (batch, tokens, context) => {
    const exchanged = exchange(batch, tokens);
    const end = endMs(batch, tokens);
    const forwardMs = forward(batch, tokens, context) + 1e3 * exchanged.forward;
    const backwardMs = backward(batch, tokens, context) + 1e3 * exchanged.backward;
    return {
      forwardMs: layers * forwardMs + end.forwardMs,
      backwardMs: layers * (backwardMs + again(batch, tokens, context, forwardMs)) + end.backwardMs,
    };
  };
}

/**
 * The same with backward split, where the profile has the part of it that makes gradients of weights, measured apart: only its ratio to the
 * whole is used. Null for other profiles.
 */
export function profiledSplit(measured: MeasuredCost, { trainer }: Profile, layers: number, ends: StageEnds): SliceCost | null {
  if (trainer === undefined) return null;
  const layer = timeFunction(trainer.weights.layer);
  const head = ends.last && trainer.weights.head !== null ? timeFunction(trainer.weights.head) : () => 0;
  return (batch, tokens, context) => {
    const time = measured(batch, tokens, context);
    const weightMs = layers * layer(batch, tokens, 0) + head(batch, tokens, 0);
    return { ...time, backwardWeightMs: Math.min(weightMs, time.backwardMs) };
  };
}

/**
 * Embedding on the first stage, head on the last, with the exchange that follows each under tensor parallelism, ms. An end that the profile
 * does not have (imported times, a head too large for the device's memory) takes the analytic model's time.
 */
function endTimes(inputs: CostInputs, { embedding, head }: NonNullable<Profile['fit']>, ends: StageEnds, batch: number, tokens: number) {
  const sum = { forwardMs: 0, backwardMs: 0 };
  const add = (forwardMs: number, backwardMs: number): void => {
    sum.forwardMs += forwardMs;
    sum.backwardMs += backwardMs;
  };
  const rows = batch * tokens;
  if (inputs.model.vocab === 0) return sum;
  if (ends.first && embedding !== null) {
    const collectiveMs = 1e3 * endCollectiveSeconds(inputs, rows);
    add(timeFunction(embedding.forward)(batch, tokens, 0) + collectiveMs, timeFunction(embedding.backward)(batch, tokens, 0));
  } else if (ends.first) add(500 * embeddingSeconds(inputs, rows), 500 * embeddingSeconds(inputs, rows));
  if (ends.headShare !== undefined) {
    if (ends.headShare === 0) return sum;
    const parts = Math.round(1 / ends.headShare);
    const own = headSeconds(inputs, rows, parts);
    const exchangeMs = 1e3 * spreadHeadSeconds(inputs, rows, parts);
    if (head === null) add(1e3 * own.forward + exchangeMs, 1e3 * own.backward + exchangeMs);
    else {
      const share = own.forward / headSeconds(inputs, rows).forward;
      const collectiveMs = 1e3 * endCollectiveSeconds(inputs, rows);
      const [forwardMs, backwardMs] = [timeFunction(head.forward)(batch, tokens, 0), timeFunction(head.backward)(batch, tokens, 0)];
      add(share * forwardMs + exchangeMs, share * backwardMs + collectiveMs + exchangeMs);
    }
  } else if (ends.last && head !== null) {
    const collectiveMs = 1e3 * endCollectiveSeconds(inputs, rows);
    add(timeFunction(head.forward)(batch, tokens, 0), timeFunction(head.backward)(batch, tokens, 0) + collectiveMs);
  } else if (ends.last) {
    const { forward, backward } = headSeconds(inputs, rows);
    add(1e3 * forward, 1e3 * backward);
  }
  return sum;
}
