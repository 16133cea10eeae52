import { timeKinks } from '../measured-profile/fit';
import type { Profile } from '../domain/profile';
import { runtimeProfile } from '../domain/runtime';
import { usualKind } from '../model/layers';
import { hasAttention } from '../model/mixers';
import { launchedFit } from './launches';
import { headSizes } from './layer-time';
import { deviceRates, type CostInputs } from './rates';
import { shardsEachPass } from './sharding';

/**
 * Contexts between which the analytic `stageCost` of `batch` sequences is affine in the context, for every one of `lengths` tokens: where
 * fused attention, forward or backward (2.5 times as long), rises above the issue floor. Null where it is not: the rate of unfused
 * attention's products follows the cube root of their size, a window ends the growth with the context, layers of several kinds differ in
 * what they feed forward, and the exchange round a ring, copies to the host, and weights gathered and gradients scattered in each pass hide
 * behind what attention takes.
 */
export function analyticKinks(inputs: CostInputs, batch: number, lengths: readonly number[]): readonly number[] | null {
  const { model, training, layout } = inputs;
  const isRing = layout.context > 1 && training.contextParallelComm === 'ring';
  const kinds = model.layerKinds ?? [usualKind(model)];
  if (model.state !== undefined && !kinds.some(hasAttention)) return [];
  const isMixed = model.layerKinds !== undefined && model.state === undefined;
  if (training.attention !== 'flash' || isRing || isMixed || kinds.some(({ window }) => window !== null)) return null;
  if ((training.activationOffloadLayers ?? 0) > 0 || shardsEachPass(inputs).gradients) return null;
  const { fused, floor } = deviceRates(inputs);
  const { forwardFloors = 1 } = runtimeProfile(training);
  const [scored, summed] = headSizes(model);
  const perPair = fused((2 * batch * model.heads * (scored + summed)) / layout.tensor / layout.context);
  return lengths.flatMap((tokens) => [forwardFloors, 1 / 2.5].map((floors) => (floors * floor) / (perPair * tokens) - tokens / 2));
}

/**
 * The same of `profiledStageCost`. Null where weights or gradients are exchanged in each pass, with a square term of the context, and where
 * the share of a selective recompute is the analytic model's of unfused attention.
 */
export function profileKinks(inputs: CostInputs, profile: Profile, batch: number, lengths: readonly number[]): readonly number[] | null {
  const { training } = inputs;
  const { fit } = profile;
  if (shardsEachPass(inputs).gradients) return null;
  if (fit === null || (training.recompute === 'selective' && training.attention !== 'flash')) return null;
  const { forward, backward } = launchedFit(fit.layer, profile, training);
  const kinks = [timeKinks(forward), timeKinks(backward)];
  if (kinks.includes(null)) return null;
  return lengths.flatMap((tokens) => kinks.flatMap((each) => each?.(batch, tokens) ?? []));
}
