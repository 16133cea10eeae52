import { adapterTargets, type Adapter, type AdapterTarget } from '../domain/adapter';
import type { LayerKind, ModelSpec } from '../domain/model';
import { hasAttention } from './mixers';
import { attentionWidths, feedForwardWidth, upProjections } from './parameters';

/** A matrix with an adapter, as one rank has it: elements of its input and of its output, a token. */
export interface AdaptedProduct {
  readonly target: AdapterTarget;
  readonly inner: number;
  readonly columns: number;
}

const readByAttention: readonly AdapterTarget[] = ['query', 'key', 'value', 'qkv'];
const readByFeedForward: readonly AdapterTarget[] = ['gate', 'up', 'gateUp'];

/** The targets in their own order that a layer of a kind has, with the matrices of one of `tensor` ranks. */
export function adaptedProducts(model: ModelSpec, { targets }: Adapter, kind: LayerKind, tensor: number): AdaptedProduct[] {
  const { query, key, value, output, gate } = attentionWidths(model, tensor);
  const { hidden } = model;
  const width = kind.feedForward === 'dense' ? feedForwardWidth(model, kind) / tensor : 0;
  const attends = hasAttention(kind) ? 1 : 0;
  const sizes: Readonly<Record<AdapterTarget, readonly [inner: number, columns: number]>> = {
    query: [hidden, attends * (query + gate)],
    key: [hidden, attends * key],
    value: [hidden, attends * value],
    qkv: [hidden, attends * (query + key + value + gate)],
    output: [attends * output, hidden],
    gate: [hidden, model.gatedMlp ? width : 0],
    up: [hidden, width],
    gateUp: [hidden, upProjections(model) * width],
    down: [width, hidden],
  };
  return adapterTargets.flatMap((target) => {
    const [inner, columns] = sizes[target];
    return targets.includes(target) && inner > 0 && columns > 0 ? [{ target, inner, columns }] : [];
  });
}

/**
 * Parameters of the adapters of one layer on one of `tensor` ranks, which share both matrices of each: rank x (input + output) of what the
 * rank has, and of the side that tensor parallelism leaves whole its share (NeMo's `ParallelLinearAdapter`).
 */
export function adapterParameters(model: ModelSpec, adapter: Adapter, kind: LayerKind, tensor: number): number {
  return adaptedProducts(model, adapter, kind, 1).reduce((sum, { inner, columns }) => sum + adapter.rank * (inner + columns), 0) / tensor;
}

/** Whether backward reads what the products of a part of the layer read: its normed input, attention's output, the activated width. */
export function readsInput({ targets }: Adapter, part: 'attention' | 'output' | 'feedForward' | 'down'): boolean {
  if (part === 'output' || part === 'down') return targets.includes(part);
  return (part === 'attention' ? readByAttention : readByFeedForward).some((target) => targets.includes(target));
}
