import { adaptedProducts, adapterParameters, type AdaptedProduct } from '../model/adapters';
import type { LayerKind } from '../domain/model';
import { elementBytes } from '../domain/number-formats';
import { allReduceSeconds, gatherSeconds } from './collectives';
import type { CostInputs, DeviceRates } from './rates';
import { addOperation, addProduct, addWeightGradient, type Tally } from './tally';

/*
 * Low-rank adapters in addition to the GEMMs of a layer: docs/model/time.md, Adapters.
 */

/**
 * Adds the adapters of a layer for `rows` rows: a dropout of the input where there is one, both products with the gradients of their
 * weights, scaling and adding to the frozen product's output, and adding to the gradient of its input.
 */
export function addAdapters(sum: Tally, { model, training, layout }: CostInputs, rates: DeviceRates, rows: number, kind: LayerKind): void {
  const { adapter } = training;
  if (adapter === undefined) return;
  const { floor, traffic, gemm } = rates;
  const trained: DeviceRates = { ...rates, linear: gemm, weightGradient: gemm, cast: () => 0, unpack: null, frozen: false };
  for (const product of adaptedProducts(model, adapter, kind, layout.tensor)) {
    const { inner, columns } = product;
    const [low, out] = isScattered(product) ? [adapter.rank, columns / layout.tensor] : [adapter.rank / layout.tensor, columns];
    if (adapter.dropout === true) addOperation(sum, floor, traffic(5 * rows * inner), traffic(5 * rows * inner));
    addProduct(sum, trained, [rows, low, inner]);
    addProduct(sum, trained, [rows, out, adapter.rank]);
    addOperation(sum, floor, traffic(6 * rows * columns), traffic(4 * rows * columns), traffic(6 * rows * inner));
  }
  const parameters = adapterParameters(model, adapter, kind, layout.tensor);
  if (parameters > 0) addWeightGradient(sum, floor, traffic(6 * parameters));
}

/** Whether tensor parallelism divides what the frozen product reads: attention's output and the activated width. */
function isScattered({ target }: AdaptedProduct): boolean {
  return target === 'output' || target === 'down';
}

/**
 * What the adapters of a layer exchange between tensor-parallel ranks, seconds each way: the low-rank output of each, and after the
 * products whose input is divided what the second matrix makes (`ParallelLinearAdapter` of NeMo and Megatron-Bridge).
 */
export function adapterCollectiveSeconds({ model, training, layout, cluster }: CostInputs, rows: number, kind: LayerKind): number {
  const { adapter } = training;
  if (adapter === undefined || layout.tensor <= 1) return 0;
  const perRow = elementBytes(training) * rows;
  return adaptedProducts(model, adapter, kind, layout.tensor).reduce((sum, product) => {
    const low = perRow * adapter.rank;
    return isScattered(product)
      ? sum + allReduceSeconds(low, layout.tensor, cluster) + gatherSeconds(perRow * product.columns, layout.tensor, cluster)
      : sum + gatherSeconds(low, layout.tensor, cluster);
  }, 0);
}
