import { adaptedProducts, readsInput, type AdaptedProduct } from '../model/adapters';
import { sublayers } from '../model/mixers';
import type { LayerKind, ModelSpec } from '../domain/model';
import { elementBytes } from '../domain/number-formats';
import type { TrainingSpec, MemoryInputs } from '../domain/request';
import type { WorkUnit } from '../schedules/schedule';
import { localTokens, visits } from './unit-sizes';

/*
 * What low-rank adapters add to the tensors of a layer. See docs/model/memory.md, Adapters.
 */

/**
 * Saved per token by the adapters of a layer: what the second matrix of each reads, and where inputs are dropped out a mask and a tensor of
 * their own for each; without dropout adapters read what the frozen products read. Magnitudes read both outputs.
 */
export function adapterSaved(inputs: MemoryInputs, kind: LayerKind): number {
  const { model, training, layout } = inputs;
  const { adapter } = training;
  if (adapter === undefined) return 0;
  const element = elementBytes(training);
  return adaptedProducts(model, adapter, kind, layout).reduce((sum, product) => {
    const dropped = adapter.dropout === true ? (element + 1) * product.inner : 0;
    const scaled = adapter.decomposed === true ? 2 * element * product.columns : 0;
    return sum + adapterRowsPerToken(inputs, product) * (element * adapter.rank + dropped + scaled);
  }, 0);
}

/** Saved by the adapter of the head, in hidden states: what it reads, with a mask where inputs are dropped out, and its low-rank output. */
export function headAdapterSaved(model: ModelSpec, training: TrainingSpec): number {
  const { adapter } = training;
  if (adapter?.onHead !== true) return 0;
  return (adapter.dropout === true ? 1 + 1 / elementBytes(training) : 1) + adapter.rank / model.hidden;
}

/** Rows of an adapter for each token of the rank: on experts the visits. */
function adapterRowsPerToken(inputs: MemoryInputs, { of }: AdaptedProduct): number {
  return of === 'experts' ? visits(inputs, inputs.model.experts?.active ?? 0).rows : 1;
}

/**
 * Norms of a layer whose outputs backward reads: all where weights are trained; of frozen ones those that adapters read without a
 * dropout of their own, and the one before experts, whose grouped GEMMs are taken to keep what they read.
 */
export function readNorms({ adapter }: TrainingSpec, kind: LayerKind): number {
  if (adapter === undefined) return sublayers(kind);
  const reads = (...parts: readonly ('attention' | 'state' | 'feedForward')[]): number =>
    adapter.dropout !== true && parts.some((part) => readsInput(adapter, part)) ? 1 : 0;
  const mixer = { attention: reads('attention'), state: reads('state'), both: reads('attention', 'state'), none: 0 };
  return mixer[kind.mixer ?? 'attention'] + (kind.feedForward === 'experts' ? 1 : reads('feedForward'));
}

/** Whether backward reads the activated width, which the last product of a feed-forward network does; of experts always. */
export function readsActivated({ adapter }: TrainingSpec, kind: LayerKind): boolean {
  return adapter === undefined || kind.feedForward === 'experts' || (adapter.dropout !== true && readsInput(adapter, 'down'));
}

/** The two products of each adapter, whose weight gradients can wait as other products' do: bytes on one rank. */
export function adapterFactors(
  inputs: MemoryInputs,
  unit: WorkUnit,
  kind: LayerKind,
): { readonly name: string; readonly input: number; readonly outputGradient: number }[] {
  const { model, training, layout } = inputs;
  if (training.adapter === undefined) return [];
  const { rank } = training.adapter;
  return adaptedProducts(model, training.adapter, kind, layout).flatMap((product) => {
    const { target, of, inner, columns } = product;
    const adapter = `the adapter of ${target}${of === 'layer' ? '' : ` of ${of === 'experts' ? 'routed' : 'shared'} experts`}`;
    const perElement = elementBytes(training) * localTokens({ layout }, unit) * adapterRowsPerToken(inputs, product);
    const low = perElement * rank;
    return [
      { name: `first of ${adapter}`, input: perElement * inner, outputGradient: low },
      { name: `second of ${adapter}`, input: low, outputGradient: perElement * columns },
    ];
  });
}
