import { adaptedProducts, adapterParameters, headAdapterParameters, isCompression, type AdaptedProduct } from '../model/adapters';
import type { LayerKind, ModelSpec } from '../domain/model';
import { elementBytes } from '../domain/number-formats';
import { expertTensorSize } from '../model/parameters';
import { allReduceSeconds, gatherSeconds } from './collectives';
import { rowsOfExperts } from './expert-time';
import { deviceRates, type CostInputs, type DeviceRates } from './rates';
import { addOperation, addProduct, addWeightGradient, emptyTally, type Tally } from './tally';

/*
 * Time of low-rank adapters on the GEMMs of a layer: docs/model/time.md, Adapters.
 */

/**
 * Adds the adapters of a layer for `tokens` tokens of a rank: a dropout of the input where there is one, both products with the gradients
 * of their weights, scaling and adding to the frozen product's output, and adding to the gradient of its input.
 */
export function addAdapters(sum: Tally, inputs: CostInputs, rates: DeviceRates, tokens: number, kind: LayerKind): void {
  const { model, training, layout } = inputs;
  const { adapter } = training;
  if (adapter === undefined) return;
  const { traffic, gemm } = rates;
  const trained: DeviceRates = { ...rates, linear: gemm, weightGradient: gemm, cast: () => 0, unpack: null, frozen: false };
  for (const product of adaptedProducts(model, adapter, kind, layout)) {
    const { of, inner, columns } = product;
    const ranks = dividingRanks(product, layout);
    const low = isScattered(product) ? adapter.rank : adapter.rank / ranks;
    const out = gathersOutput(model, product) ? columns / ranks : columns;
    const floor = of === 'experts' ? rates.expertFloor : rates.floor;
    const rows = adapterRows(inputs, product, tokens);
    const adapters = of === 'experts' && adapter.perExpert === true ? Math.min((model.experts?.count ?? 0) / layout.expert, rows) : 1;
    if (adapter.dropout === true) addOperation(sum, floor, traffic(5 * rows * inner), traffic(5 * rows * inner));
    addProduct(sum, { ...trained, floor }, [rows / adapters, low, inner], adapters);
    addProduct(sum, { ...trained, floor }, [rows / adapters, out, adapter.rank], adapters);
    addOperation(sum, floor, traffic(6 * rows * columns), traffic(4 * rows * columns), traffic(6 * rows * inner));
    if (adapter.decomposed === true) addMagnitudes(sum, adapter.rank, { ...rates, floor }, product, rows);
    // what is dropped out goes through the frozen matrix, too, whose own product has all of it
    if (adapter.frozenTwice === true) addProduct(sum, { ...rates, floor }, [rows, columns, inner]);
  }
  const { shared, experts } = adapterParameters(model, adapter, kind, layout);
  for (const parameters of [shared, experts]) if (parameters > 0) addWeightGradient(sum, rates.floor, traffic(6 * parameters));
}

/**
 * The adapter of the head for `rows` tokens and `columns` of the logits, seconds each way, `weight` the part of backward for gradients of
 * its weights: as of a matrix of a layer, with the gather of its low-rank output between tensor-parallel ranks.
 */
export function headAdapterSeconds(inputs: CostInputs, rows: number, columns: number): Pick<Tally, 'forward' | 'backward' | 'weight'> {
  const { model, training, layout, cluster } = inputs;
  const { adapter } = training;
  if (adapter?.onHead !== true || model.vocab === 0) return { forward: 0, backward: 0, weight: 0 };
  const rates = deviceRates(inputs);
  const { traffic, gemm, floor } = rates;
  const { hidden } = model;
  const { rank } = adapter;
  const trained: DeviceRates = { ...rates, linear: gemm, weightGradient: gemm, cast: () => 0, unpack: null, frozen: false };
  const sum = emptyTally();
  if (adapter.dropout === true) addOperation(sum, floor, traffic(5 * rows * hidden), traffic(5 * rows * hidden));
  addProduct(sum, trained, [rows, rank / layout.tensor, hidden]);
  addProduct(sum, trained, [rows, columns, rank]);
  addOperation(sum, floor, traffic(6 * rows * columns), traffic(4 * rows * columns), traffic(6 * rows * hidden));
  addWeightGradient(sum, floor, traffic((6 * headAdapterParameters(model, adapter)) / layout.tensor));
  const exchange = gatherSeconds(elementBytes(training) * rows * rank, layout.tensor, cluster);
  return { forward: sum.forward + exchange, backward: sum.backward + exchange, weight: sum.weight };
}

/**
 * What decomposed weights have in addition (`DoraLinearLayer` of peft, `DoRALinear` of torchtune): in forward both low-rank matrices of an
 * identity, their product added to the frozen matrix and normed by column without a gradient; magnitudes on the outputs of both, each way.
 */
function addMagnitudes(
  sum: Tally,
  rank: number,
  { gemm, traffic, unpack, floor }: DeviceRates,
  product: AdaptedProduct,
  rows: number,
): void {
  const { inner, columns } = product;
  const matrix = inner * columns;
  if (unpack !== null) addOperation(sum, floor, unpack(matrix));
  addOperation(sum, floor, gemm(inner, inner, rank) + gemm(inner, rank, columns) + traffic(2 * inner * inner + 14 * matrix));
  addOperation(sum, floor, traffic(14 * rows * columns), traffic(18 * rows * columns));
}

/** Ranks that divide the matrix with the adapter. */
function dividingRanks({ of }: AdaptedProduct, layout: CostInputs['layout']): number {
  return of === 'experts' ? expertTensorSize(layout) : layout.tensor;
}

/** Rows of an adapter for the tokens of a rank: on experts the visits. */
function adapterRows(inputs: CostInputs, { of }: AdaptedProduct, tokens: number): number {
  return of === 'experts' ? rowsOfExperts(inputs, inputs.model.experts?.active ?? 0, tokens) : tokens;
}

/** Whether tensor parallelism divides what the frozen product reads: outputs of attention and of a state, and the activated width. */
function isScattered({ target }: AdaptedProduct): boolean {
  return ['output', 'down', 'expertDown', 'sharedDown', 'stateOutput'].includes(target);
}

/** Whether ranks gather the output of the second matrix: where the frozen product's input is divided, or nothing of it. */
function gathersOutput(model: ModelSpec, product: AdaptedProduct): boolean {
  return isScattered(product) || isCompression(model, product.target);
}

/**
 * What the adapters of a layer exchange between tensor-parallel ranks, seconds each way: the low-rank output of each and, where ranks
 * gather it, the output of the second matrix (`gather_output` of `ParallelLinearAdapter`, Megatron-Bridge 067f987d).
 */
export function adapterCollectiveSeconds(inputs: CostInputs, tokens: number, kind: LayerKind): number {
  const { model, training, layout, cluster } = inputs;
  const { adapter } = training;
  if (adapter === undefined || layout.tensor <= 1) return 0;
  return adaptedProducts(model, adapter, kind, layout).reduce((sum, product) => {
    const ranks = dividingRanks(product, layout);
    if (ranks <= 1) return sum;
    const perRow = elementBytes(training) * adapterRows(inputs, product, tokens);
    const low = perRow * adapter.rank;
    const middle = isScattered(product) ? allReduceSeconds(low, ranks, cluster) : gatherSeconds(low, ranks, cluster);
    return sum + middle + (gathersOutput(model, product) ? gatherSeconds(perRow * product.columns, ranks, cluster) : 0);
  }, 0);
}
