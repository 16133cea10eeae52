import { elementBytes, inputBytes } from '../domain/number-formats';
import { attentionWidths } from '../model/parameters';
import { attentionHeads } from '../model/stacks';
import { fusesGradAccumulation } from '../domain/runtime';
import type { LayerKind } from '../domain/model';
import { allReduceSeconds, gatherSeconds } from './collectives';
import { deviceRates, type CostInputs, type DeviceRates } from './rates';
import { addOperation, addProduct, addWeightGradient, type Tally } from './tally';

/**
 * Rows of hidden states on one rank: of the target, which asks, and of the source, whose keys and values every decoder layer recomputes
 * from the encoder's output.
 */
interface CrossRows {
  readonly target: number;
  readonly source: number;
}

/**
 * Adds what attention to the encoder's output takes in addition to its scores: norm, products, their biases and head splits, residual, as
 * around attention inside a stack; in backward the gradient of the encoder's output of one layer more. Operations as Megatron-LM's
 * `CrossAttention` has them (core 0.15, `linear_q`, `linear_kv`, `linear_proj`).
 */
export function addCross(sum: Tally, { model, training, layout }: CostInputs, rates: DeviceRates, { target, source }: CrossRows): void {
  const { floor, traffic } = rates;
  const { query, key, value, output } = attentionWidths(model, layout.tensor);
  const h = model.hidden;
  const share = training.sequenceParallel ? 1 / layout.tensor : 1;
  const dropout = training.dropout ? 1 : 0;
  addOperation(sum, floor, traffic(4 * target * h * share), traffic(6 * target * h * share));
  addProduct(sum, rates, [target, query, h], 1, false);
  addProduct(sum, rates, [source, key + value, h]);
  addProduct(sum, rates, [target, h, output]);
  const projected = traffic(4 * (target * query + source * (key + value)));
  addOperation(sum, floor, projected, projected);
  addOperation(
    sum,
    floor,
    traffic((6 + dropout) * target * h * share),
    traffic((4 + dropout) * target * h * share),
    traffic(6 * source * h * share),
  );
  if (!fusesGradAccumulation(training)) for (let i = 0; i < 3; i++) addWeightGradient(sum, floor, 0);
}

/**
 * Exchanges of that attention between tensor-parallel ranks. Without sequence parallelism an all-reduce of the output, and one of the
 * gradient of each input; with it the target and the encoder's output are gathered, in backward overlapped with the GEMM that needs them as
 * far as that lasts.
 */
export function crossCollectiveSeconds(inputs: CostInputs, { target, source }: CrossRows): { forward: number; backward: number } {
  const { model, training, layout, cluster } = inputs;
  if (layout.tensor <= 1) return { forward: 0, backward: 0 };
  const { hidden } = model;
  const element = elementBytes(training);
  if (!training.sequenceParallel) {
    const reduce = (rows: number): number => allReduceSeconds(element * rows * hidden, layout.tensor, cluster);
    return { forward: reduce(target), backward: reduce(target) + reduce(source) };
  }
  const { query, key, value } = attentionWidths(model, layout.tensor);
  const { linear, floor } = deviceRates(inputs);
  const product = (m: number, n: number, k: number): number => Math.max(linear(m, n, k), floor);
  const gather = (rows: number): number => gatherSeconds(inputBytes(training) * rows * hidden, layout.tensor, cluster);
  const scatter = (rows: number): number => gatherSeconds(element * rows * hidden, layout.tensor, cluster);
  const exposed = (rows: number, width: number): number =>
    Math.max(0, gather(rows) - product(rows, hidden, width)) + Math.max(0, scatter(rows) - product(hidden, width, rows));
  return {
    forward: gather(target) + gather(source) + scatter(target),
    backward: gather(target) + exposed(target, query) + exposed(source, key + value),
  };
}

/**
 * Adds a bias by distance to the scores of a layer, and its gradient to that of the layers before: one for all sequences (T5). Derived, not
 * measured.
 */
export function addRelativeBias(
  sum: Tally,
  { model, layout }: CostInputs,
  { floor, traffic }: DeviceRates,
  kind: LayerKind,
  tokens: number,
): void {
  const bytes = (2 * attentionHeads(model, kind).heads * tokens * tokens) / layout.tensor;
  addOperation(sum, floor, traffic(bytes), traffic(2 * bytes));
}
