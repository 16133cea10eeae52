import { memoized } from '../records';
import type { MemoryInputs } from '../domain/request';
import type { WorkUnit } from '../schedules/schedule';
import {
  activationGroups,
  layerSavedBytes,
  layerSizes,
  layerWaitingBytes,
  type ActivationPolicy,
  type LayerSizes,
  type StageContents,
} from './layer-tensors';
import { boundaryBytes, stackUnit } from './unit-sizes';

/**
 * The layers of a stage in order: run i is `layers[i]` layers, each as `alike[which[i]]`. A hybrid has thousands of runs of few kinds, so
 * what a layer holds is worked out once a kind.
 */
export interface LayerRuns<T> {
  readonly alike: readonly T[];
  readonly which: Uint32Array;
  readonly layers: Float64Array;
}

/** The sum over all layers, in order. */
export function sumOverLayers<T>({ alike, which, layers }: LayerRuns<T>, ofLayer: (layer: T, index: number) => number): number {
  const each = alike.map(ofLayer);
  let sum = 0;
  for (let run = 0; run < which.length; run++) sum += (layers[run] ?? 0) * (each[which[run] ?? 0] ?? 0);
  return sum;
}

const knownRuns = new WeakMap<MemoryInputs, WeakMap<StageContents, LayerRuns<ActivationPolicy>>>();

/** The layers of a stage by what they keep of activations. */
function activationRuns(inputs: MemoryInputs, stage: StageContents): LayerRuns<ActivationPolicy> {
  const known = memoized(knownRuns, inputs, () => new WeakMap<StageContents, LayerRuns<ActivationPolicy>>());
  return memoized(known, stage, () => {
    const groups = activationGroups(inputs, stage);
    const alike: ActivationPolicy[] = [];
    const indices = new Map<string, number>();
    const which = Uint32Array.from(groups, (group) => memoized(indices, policyName(group), () => alike.push(group) - 1));
    return { alike, which, layers: Float64Array.from(groups, ({ layers }) => layers) };
  });
}

/** What one layer holds of a unit, bytes: worked out once for all that is counted of the unit. */
export interface UnitLayer extends ActivationPolicy {
  readonly sizes: LayerSizes;
  /** Saved until its backward, wherever it waits; and of that, what waits on the GPU. */
  readonly waiting: number;
  readonly kept: number;
  /** Made again by recompute at its backward. */
  readonly recreated: number;
}

/** The layers of a stage as a unit finds them. */
export function unitLayers(inputs: MemoryInputs, stage: StageContents, unit: WorkUnit): LayerRuns<UnitLayer> {
  const runs = activationRuns(inputs, stage);
  const alike = runs.alike.map((policy) => {
    const waiting = layerWaitingBytes(inputs, unit, policy);
    const recreated = recreatedBytes(inputs, unit, policy);
    return { ...policy, sizes: layerSizes(inputs, unit, policy.kind), waiting, kept: policy.offloaded ? 0 : waiting, recreated };
  });
  return { ...runs, alike };
}

/** Equal for layers that hold the same. */
function policyName({ kind, whole, offloaded }: ActivationPolicy): string {
  return `${kind.stack ?? ''} ${kind.feedForward} ${kind.mixer ?? ''} ${String(whole)} ${String(offloaded)}`;
}

/**
 * Recompute makes again, at a layer's backward, what the forward dropped: the activations of all layers of its group except the group's
 * kept input, or what the recomputed modules save.
 */
function recreatedBytes(inputs: MemoryInputs, unit: WorkUnit, group: ActivationPolicy): number {
  if (inputs.training.recompute === 'none') return 0;
  const set = layerSavedBytes(inputs, unit, group.kind, () => false);
  return group.whole
    ? group.groupSize * set - boundaryBytes(inputs, stackUnit(inputs, unit, group.kind))
    : set - layerWaitingBytes(inputs, unit, group);
}
