import { elementBytes } from '../../../core/domain/number-formats';
import { deviceRates, type CostInputs } from '../../../core/time-model/rates';
import { profiledStageCost } from '../../../core/time-model/profile-cost';
import { layerMatrixParameters } from '../../../core/model/parameters';
import type { ElasticModel, UnitKind } from './units';

/** Time and memory of one unit for a micro-batch, on one GPU. */
export interface UnitCost {
  readonly forwardMs: number;
  /** Gradient of the input: not needed in the lowest unit that trains. */
  readonly backwardInputMs: number;
  /** Gradients of the weights and their accumulation: not needed in a frozen unit. */
  readonly backwardWeightMs: number;
  /** Kept from the forward to the backward; a frozen unit keeps nothing. */
  readonly savedBytes: number;
}

/** Tokens of every sequence, and tokens before them. */
interface TokenSlice {
  readonly tokens: number;
  readonly context: number;
}

/** Costs of the units by kind for `batch` samples of the model's sequence, or of a slice of it. */
export type UnitCosts = (batch: number, slice?: TokenSlice) => Readonly<Record<UnitKind, UnitCost>>;

/** One operation: its forward, the gradient of its input and that of its weights, seconds; 0 for what it does not have. */
type Operation = readonly [forward: number, backwardInput: number, backwardWeight: number];

/**
 * Costs of attention, feed-forward, norm and ends, each with its own gradients apart. The operations of a layer are those of the analytic
 * step-time model (`layerTime`), whose sum over both halves of a causal layer they equal; an encoder's attention sees the whole sequence,
 * twice the causal half. Memory as `memory-model/activation-memory` counts it.
 */
export function analyticCosts(inputs: CostInputs, { spec, ends }: ElasticModel): UnitCosts {
  const known = new Map<string, Readonly<Record<UnitKind, UnitCost>>>();
  const whole: TokenSlice = { tokens: inputs.training.sequenceLength, context: 0 };
  const { traffic } = deviceRates(inputs);
  const element = elementBytes(inputs.training);
  const mask = inputs.training.dropout ? 1 : 0;
  return (batch, slice = whole) => {
    const { tokens, context } = slice;
    const key = [batch, tokens, context].join();
    let costs = known.get(key);
    if (costs !== undefined) return costs;
    const rows = batch * tokens;
    const hidden = rows * spec.hidden;
    const norm: Operation = [traffic(4 * hidden), traffic(6 * hidden), 0];
    // Residual addition with its dropout.
    const residual: Operation = [traffic((6 + mask) * hidden), traffic((4 + mask) * hidden), 0];
    const accumulation: Operation = [0, 0, traffic((6 * layerMatrixParameters(spec)) / 4)];
    const around = [norm, residual, accumulation, accumulation];
    const inputsKept = hidden * (2 * element + mask);
    costs = {
      embedding: unitCost(
        inputs,
        embeddingOperations(inputs, { spec, ends }, rows),
        ends.patchWidth === null ? 0 : element * rows * ends.patchWidth,
      ),
      attention: layerCost(
        inputs,
        [...around, ...attentionOperations(inputs, ends.causal, batch, slice)],
        inputsKept + attentionBytes(inputs, batch, slice),
        element * hidden,
      ),
      'feed-forward': layerCost(
        inputs,
        [...around, ...feedForwardOperations(inputs, rows)],
        inputsKept + element * (spec.gatedMlp ? 3 : 2) * rows * spec.ffn,
        element * hidden,
      ),
      norm: unitCost(inputs, [norm], 2 * element * hidden),
      head: headCost(inputs, { spec, ends }, batch, slice),
    };
    known.set(key, costs);
    return costs;
  };
}

/** With full recompute a half layer keeps only its input and runs forward again before its backward. */
function layerCost(inputs: CostInputs, operations: readonly Operation[], savedBytes: number, inputBytes: number): UnitCost {
  const cost = unitCost(inputs, operations, savedBytes);
  if (inputs.training.recompute !== 'full') return cost;
  return { ...cost, backwardWeightMs: cost.backwardWeightMs + cost.forwardMs, savedBytes: inputBytes };
}

/**
 * The same with the times of a profiled layer: both halves scaled by measured over analytic time, forward and backward apart. Ends stay
 * analytic.
 */
export function profiledCosts(inputs: CostInputs, model: ElasticModel, profile: Parameters<typeof profiledStageCost>[1]): UnitCosts {
  const analytic = analyticCosts(inputs, model);
  const measured = profiledStageCost(inputs, profile, 1, { first: false, last: false });
  const known = new Map<string, Readonly<Record<UnitKind, UnitCost>>>();
  return (batch, slice = { tokens: inputs.training.sequenceLength, context: 0 }) => {
    const key = [batch, slice.tokens, slice.context].join();
    let costs = known.get(key);
    if (costs !== undefined) return costs;
    costs = analytic(batch, slice);
    const { attention, 'feed-forward': feedForward } = costs;
    const layer = measured(batch, slice.tokens, slice.context);
    const backwardMs = [attention, feedForward].reduce((sum, half) => sum + half.backwardInputMs + half.backwardWeightMs, 0);
    const forward = layer.forwardMs / (attention.forwardMs + feedForward.forwardMs);
    const backward = layer.backwardMs / backwardMs;
    const scaled = (cost: UnitCost): UnitCost => ({
      ...cost,
      forwardMs: forward * cost.forwardMs,
      backwardInputMs: backward * cost.backwardInputMs,
      backwardWeightMs: backward * cost.backwardWeightMs,
    });
    costs = { ...costs, attention: scaled(attention), 'feed-forward': scaled(feedForward) };
    known.set(key, costs);
    return costs;
  };
}

function unitCost(inputs: CostInputs, operations: readonly Operation[], savedBytes: number): UnitCost {
  const { floor } = deviceRates(inputs);
  const total = (part: 0 | 1 | 2) =>
    1e3 * operations.reduce((sum, operation) => sum + (operation[part] === 0 ? 0 : Math.max(operation[part], floor)), 0);
  return { forwardMs: total(0), backwardInputMs: total(1), backwardWeightMs: total(2), savedBytes };
}

/** Forward, input gradient and weight gradient of [m x k][k x n]. */
function product({ gemm }: ReturnType<typeof deviceRates>, m: number, n: number, k: number): Operation {
  return [gemm(m, n, k), gemm(m, k, n), gemm(k, n, m)];
}

function attentionOperations(inputs: CostInputs, causal: boolean, batch: number, { tokens, context }: TokenSlice): Operation[] {
  const { model, training } = inputs;
  const rates = deviceRates(inputs);
  const { gemm, traffic, fused } = rates;
  const { hidden, heads, kvHeads, headDim } = model;
  const rows = batch * tokens;
  const qkv = (heads + 2 * kvHeads) * headDim;
  const headBatches = batch * heads;
  const projections = [
    product(rates, rows, qkv, hidden),
    product(rates, rows, hidden, heads * headDim),
    // Splitting into heads, rotation or bias.
    [traffic(4 * rows * qkv), traffic(4 * rows * qkv), 0] as const,
  ];
  if (training.attention === 'flash') {
    const seconds = fused(4 * headBatches * tokens * headDim * (causal ? context + tokens / 2 : tokens));
    return [...projections, [seconds, 2.5 * seconds, 0]];
  }
  const scores = gemm(tokens, context + tokens, headDim, headBatches);
  const cells = headBatches * tokens * (context + tokens);
  return [
    ...projections,
    // Scores and context, each with two products behind it, none of weights.
    ...[0, 1].flatMap((): Operation[] => [
      [scores, scores, 0],
      [0, scores, 0],
    ]),
    [traffic(4 * cells), traffic(6 * cells), 0],
    ...(training.dropout ? [[traffic(5 * cells), traffic(5 * cells), 0] as const] : []),
  ];
}

function feedForwardOperations(inputs: CostInputs, rows: number): Operation[] {
  const { hidden, ffn, gatedMlp } = inputs.model;
  const rates = deviceRates(inputs);
  return [
    product(rates, rows, (gatedMlp ? 2 : 1) * ffn, hidden),
    product(rates, rows, hidden, ffn),
    [rates.traffic((gatedMlp ? 6 : 4) * rows * ffn), rates.traffic((gatedMlp ? 10 : 6) * rows * ffn), 0],
  ];
}

/**
 * Bytes that attention keeps beyond its inputs: queries, keys, values, its output, and the scores where no fused kernel recomputes them.
 */
function attentionBytes({ model, training }: CostInputs, batch: number, { tokens, context }: TokenSlice): number {
  const { heads, kvHeads, headDim } = model;
  const element = elementBytes(training);
  const query = heads * headDim;
  const qkv = query + 2 * kvHeads * headDim;
  const flash = training.attention === 'flash';
  const scores = flash ? 0 : batch * heads * tokens * (context + tokens) * (training.dropout ? 2 * element + 1 : element);
  return batch * tokens * (element * (qkv + query) + (flash ? 4 * heads : 0)) + scores;
}

/** Patches by a product without a gradient of the image, tokens by look-up and scatter. */
function embeddingOperations(inputs: CostInputs, { spec, ends }: ElasticModel, rows: number): Operation[] {
  const { gemm, traffic } = deviceRates(inputs);
  if (ends.patchWidth !== null) return [[gemm(rows, spec.hidden, ends.patchWidth), 0, gemm(ends.patchWidth, spec.hidden, rows)]];
  return ends.embeddingParameters === 0 ? [] : [[traffic(6 * rows * spec.hidden), 0, traffic(6 * rows * spec.hidden)]];
}

/** Products of the head and the loss, whose kernels move 26 bytes a class, 12 when fused. */
function headCost(inputs: CostInputs, { ends }: ElasticModel, batch: number, { tokens }: TokenSlice): UnitCost {
  const rates = deviceRates(inputs);
  const { training } = inputs;
  const products = ends.headProducts.map(({ rows, inner, columns }) => ({ rows: batch * (rows ?? tokens), inner, columns }));
  const last = products.at(-1);
  const cells = last === undefined ? 0 : last.rows * last.columns;
  const loss = rates.traffic(((training.fusedCrossEntropy ? 12 : 26) / 2) * cells);
  const saved = products.reduce((bytes, { rows, inner, columns }) => bytes + elementBytes(training) * rows * (inner + columns), 0);
  return unitCost(inputs, [...products.map(({ rows, inner, columns }) => product(rates, rows, columns, inner)), [loss, loss, 0]], saved);
}
