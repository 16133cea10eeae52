import { adapterTargets, type Adapter, type AdapterTarget } from '../domain/adapter';
import type { LayerKind, ModelSpec } from '../domain/model';
import { maximum } from '../numbers';
import { adaptedProducts, undivided } from './adapters';
import { expertTensorSize, type LayerDivision } from './parameters';

/** Elements of the largest tensor of one rank among those that all replicas share, and among its experts; 0: none, or not asked for. */
export interface LargestTensors {
  readonly shared: number;
  readonly experts: number;
}

/** Where shards are even, their sizes decide nothing. */
export const noTensors: LargestTensors = { shared: 0, experts: 0 };

/** Matrices that are in another of these: queries, keys and values are one tensor, gate and up are two. */
const within: readonly AdapterTarget[] = ['query', 'key', 'value', 'gateUp', 'stateValues', 'stateGate', 'stateGated'];
const matrices = adapterTargets.filter((target) => !within.includes(target));

/** The largest matrices of layers of these kinds, or of the adapters that they are trained by. */
export function largestOfLayers(model: ModelSpec, kinds: readonly LayerKind[], division: LayerDivision, adapter?: Adapter): LargestTensors {
  const sizes = kinds.flatMap((kind) =>
    adapter === undefined
      ? adaptedProducts(model, { targets: matrices }, kind, division).map(({ of, inner, columns }) => ({ of, size: inner * columns }))
      : adaptedProducts(model, adapter, kind, undivided).map(({ of, inner, columns }) => ({
          of,
          size: (adapter.rank * Math.max(inner, columns)) / (of === 'experts' ? expertTensorSize(division) : division.tensor),
        })),
  );
  const largest = (ofExperts: boolean): number => {
    const own = sizes.filter(({ of }) => (of === 'experts') === ofExperts);
    return Math.max(0, maximum(own.map(({ size }) => size)));
  };
  return { shared: largest(false), experts: largest(true) };
}

/** Elements of the larger matrix of the head's adapter, whole; 0 without one. */
export function largestOnHead({ hidden, vocab }: Pick<ModelSpec, 'hidden' | 'vocab'>, adapter: Adapter): number {
  return adapter.onHead === true && vocab > 0 ? adapter.rank * Math.max(hidden, vocab) : 0;
}
