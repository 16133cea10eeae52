import type { ModelSpec } from '../model/spec';
import { keyValueHeadsPerRank, rankMatrixParameters } from '../model/parameters';
import type { Layout, TrainingSpec } from '../planner/request';
import type { ClusterSpec } from '../cluster/spec';
import type { CostConstants } from './constants';
import { allReduceSeconds, allToAllSeconds, gatherSeconds, nodeBusBandwidth } from './collectives';

/** What the analytic model needs to time one layer on one rank. */
export interface CostInputs {
  readonly model: ModelSpec;
  readonly training: TrainingSpec;
  readonly layout: Layout;
  readonly cluster: ClusterSpec;
  readonly constants: CostConstants;
}

/** Seconds of one layer for one slice, recompute not yet added, and how much of the device time sits on the issue floor. */
export interface LayerSeconds {
  readonly forward: number;
  readonly backward: number;
  /** Part of backward that only makes gradients of weights: their matrix products and adding them up. Nothing before it in the pipeline waits for it. */
  readonly weight: number;
  /** Forward work that a selective recompute repeats: attention scores, softmax, dropout and context (nothing with fused attention). */
  readonly selective: number;
  /** Seconds added by the floor l over the operations' own device time, forward and backward. */
  readonly idleOnFloor: number;
}

/** Bytes of one element in the training precision. */
export function elementBytes(training: TrainingSpec): number {
  return training.precision === 'fp32' ? 4 : 2;
}

/** Rates of the GPU in SI units: `gemm(m, n, k, batch)` and `traffic(bytes)` give seconds of device time. */
export function deviceRates({ cluster, training, constants }: CostInputs) {
  const peak = cluster.gpu.peakTflops[training.precision] * 1e12;
  const bandwidth = cluster.gpu.memoryTBps * 1e12 * constants.memoryEfficiency;
  const best = peak * cluster.gpu.gemmEfficiency;
  const element = elementBytes(training);
  const floor = constants.issueFloorUs * 1e-6;
  return {
    floor,
    /** [m x k][k x n] repeated `batch` times: the slower of arithmetic, with efficiency g/(g+q) at g = cube root of mnk, and moving the three matrices. */
    gemm: (m: number, n: number, k: number, batch = 1): number => {
      const size = Math.cbrt(m * n * k);
      const arithmetic = (2 * m * n * k * batch * (size + constants.gemmHalfSize)) / (best * size);
      return Math.max(arithmetic, (element * batch * (m * k + k * n + m * n)) / bandwidth);
    },
    /** Formulas count bytes for two-byte elements; other precisions scale. */
    traffic: (bytesAtTwo: number): number => (bytesAtTwo * element) / 2 / bandwidth,
    /** Fused attention, forward: FLOPs at 0.7 of the best GEMM rate. */
    fused: (flops: number): number => flops / (best * 0.7),
  };
}

/**
 * Time of one layer for a slice of `tokens` tokens of each of `batch` sequences after `context` earlier ones. The operations, their bytes and the floor are those of
 * "An analytic step-time model", section 3 (cube-root form). Split in a part that does not depend on `context`, cached by (batch, tokens), and attention, which does.
 *
 * @returns a function of (batch, tokens, context); all >= 1 but context >= 0, integers.
 */
export function layerTime(inputs: CostInputs): (batch: number, tokens: number, context: number) => LayerSeconds {
  const tokenwise = cachedBySlice((batch, tokens) => tokenwiseSeconds(inputs, batch, tokens));
  const attentionOf = attentionTime(inputs);
  return (batch, tokens, context) => {
    const base = tokenwise(batch, tokens);
    const attention = attentionOf(batch, tokens, context);
    return {
      forward: base.forward + attention.forward,
      backward: base.backward + attention.backward,
      weight: base.weight,
      selective: attention.selective,
      idleOnFloor: base.idleOnFloor + attention.idleOnFloor,
    };
  };
}

/** Remembers what depends on (batch, tokens) only: the solver asks for each of them at hundreds of contexts. */
export function cachedBySlice<T>(compute: (batch: number, tokens: number) => T): (batch: number, tokens: number) => T {
  const known = new Map<number, T>();
  return (batch, tokens) => {
    const key = batch * 2 ** 30 + tokens;
    let value = known.get(key);
    if (value === undefined) known.set(key, (value = compute(batch, tokens)));
    return value;
  };
}

/** Sums of operations, seconds. */
interface Tally {
  forward: number;
  backward: number;
  /** Of backward, the gradients of weights. */
  weight: number;
  /** Without the floor. */
  device: number;
}

/** Adds one operation and its backward operations, each at least the issue floor. */
function addOperation(sum: Tally, floor: number, forward: number, ...backward: readonly number[]): void {
  sum.forward += Math.max(forward, floor);
  sum.device += forward;
  for (const seconds of backward) addBackward(sum, floor, seconds);
}

/** Adds a product with a weight matrix: backward is one product for the gradient of its input, one for that of the weights. */
function addProduct(sum: Tally, floor: number, forward: number, input: number, weight: number): void {
  addOperation(sum, floor, forward, input);
  addWeightGradient(sum, floor, weight);
}

function addWeightGradient(sum: Tally, floor: number, seconds: number): void {
  addBackward(sum, floor, seconds);
  sum.weight += Math.max(seconds, floor);
}

function addBackward(sum: Tally, floor: number, seconds: number): void {
  sum.backward += Math.max(seconds, floor);
  sum.device += seconds;
}

function idleOnFloor({ forward, backward, device }: Tally): number {
  return forward + backward - device;
}

function tokenwiseSeconds(inputs: CostInputs, batch: number, tokens: number): LayerSeconds {
  const { model, training, layout } = inputs;
  const { gemm, traffic, floor } = deviceRates(inputs);
  const { hidden: h, heads, headDim } = model;
  const t = layout.tensor;
  const n = (batch * tokens) / layout.context;
  const qkv = (heads / t + 2 * keyValueHeadsPerRank(model, t)) * headDim;
  const out = (heads * headDim) / t;
  const up = model.gatedMlp ? 2 : 1;
  const f = model.ffn / t;
  const mlp = [
    [up * f, h],
    [h, f],
  ] as const;
  const sequenceShare = training.sequenceParallel ? 1 / t : 1;
  const dropout = training.dropout ? 1 : 0;

  const sum: Tally = { forward: 0, backward: 0, weight: 0, device: 0 };
  for (let i = 0; i < 2; i++) addOperation(sum, floor, traffic(4 * n * h * sequenceShare), traffic(6 * n * h * sequenceShare));
  for (const [columns, inner] of [[qkv, h], [h, out], ...(model.experts === null ? mlp : [])] as const) {
    addProduct(sum, floor, gemm(n, columns, inner), gemm(n, inner, columns), gemm(inner, columns, n));
  }
  addOperation(sum, floor, traffic(4 * n * qkv), traffic(4 * n * qkv));
  for (let i = 0; i < 2; i++)
    addOperation(sum, floor, traffic((6 + dropout) * n * h * sequenceShare), traffic((4 + dropout) * n * h * sequenceShare));
  if (model.experts === null)
    addOperation(sum, floor, traffic((model.gatedMlp ? 6 : 4) * n * f), traffic((model.gatedMlp ? 10 : 6) * n * f));
  else addExperts(sum, inputs, n, model.experts);
  const accumulation = traffic((6 * rankMatrixParameters(model, layout)) / 4);
  for (let i = 0; i < 4; i++) addWeightGradient(sum, floor, accumulation);

  const communication = exchangeSeconds(inputs, n);
  return {
    forward: sum.forward + communication.forward,
    backward: sum.backward + communication.backward,
    weight: sum.weight,
    selective: 0,
    idleOnFloor: idleOnFloor(sum),
  };
}

/**
 * Router, permutation, experts and un-permutation of `localTokens` rows, balanced: every expert of the rank gets as many rows. Slices with fewer visits than experts leave some
 * idle, whose weights are not read.
 */
function addExperts(sum: Tally, inputs: CostInputs, localTokens: number, { count, active }: NonNullable<ModelSpec['experts']>): void {
  const { model, training, layout } = inputs;
  const { gemm, traffic, floor } = deviceRates(inputs);
  const h = model.hidden;
  const f = model.ffn / layout.tensor;
  const routed = training.sequenceParallel ? localTokens / layout.tensor : localTokens;
  addOperation(sum, floor, gemm(routed, count, h), gemm(routed, h, count), gemm(h, count, routed));

  const visits = localTokens * active;
  const moved = traffic((layout.expert > 1 ? 8 : 4) * visits * h);
  addOperation(sum, floor, moved, moved);
  addOperation(sum, floor, moved, moved);

  const busy = Math.min(count / layout.expert, visits);
  const rows = visits / busy;
  for (const [columns, inner] of [
    [(model.gatedMlp ? 2 : 1) * f, h],
    [h, f],
  ] as const) {
    addProduct(sum, floor, gemm(rows, columns, inner, busy), gemm(rows, inner, columns, busy), gemm(inner, columns, rows, busy));
  }
  addOperation(sum, floor, traffic((model.gatedMlp ? 6 : 4) * visits * f), traffic((model.gatedMlp ? 10 : 6) * visits * f));
}

/** All exchanges of one layer that do not depend on the context, for `localTokens` rows of hidden states: tensor-parallel ones and those of the experts; none overlapped. */
export function exchangeSeconds(inputs: CostInputs, localTokens: number): { forward: number; backward: number } {
  const tensor = tensorParallelSeconds(inputs, localTokens);
  const experts = expertSeconds(inputs, localTokens);
  return { forward: tensor.forward + experts, backward: tensor.backward + experts };
}

/** Two all-to-alls, to the experts' ranks and back, of every row once per expert it visits; with sequence parallelism tensor-parallel ranks share the rows. One pass, seconds. */
function expertSeconds({ model, training, layout, cluster }: CostInputs, localTokens: number): number {
  if (model.experts === null) return 0;
  const rows = localTokens * model.experts.active * (training.sequenceParallel ? 1 / layout.tensor : 1);
  return 2 * allToAllSeconds(elementBytes(training) * rows * model.hidden, layout.expert, layout.tensor, cluster);
}

/** Exchanges of one layer between its tensor-parallel ranks for `localTokens` rows of hidden states: all-reduces, or gathers and scatters with sequence parallelism; none overlapped. */
function tensorParallelSeconds(
  { model, training, layout, cluster }: CostInputs,
  localTokens: number,
): { forward: number; backward: number } {
  const bytes = elementBytes(training) * localTokens * model.hidden;
  if (training.sequenceParallel) {
    const exchange = gatherSeconds(bytes, layout.tensor, cluster);
    return { forward: 4 * exchange, backward: 6 * exchange };
  }
  const exchange = allReduceSeconds(bytes, layout.tensor, cluster);
  return { forward: 2 * exchange, backward: 2 * exchange };
}

function attentionTime(inputs: CostInputs): (batch: number, tokens: number, context: number) => LayerSeconds {
  const { model, training, layout } = inputs;
  const { gemm, traffic, fused, floor } = deviceRates(inputs);
  const d = model.headDim;
  const exchange = cachedBySlice((batch, tokens) => contextParallelSeconds(inputs, (batch * tokens) / layout.context));
  return (batch, tokens, context) => {
    const headBatches = (batch * model.heads) / layout.tensor;
    const sum: Tally = { forward: 0, backward: 0, weight: 0, device: 0 };
    if (training.attention === 'flash') {
      const seconds = fused((4 * headBatches * tokens * d * (tokens / 2 + context)) / layout.context);
      addOperation(sum, floor, seconds, 2.5 * seconds);
    } else {
      const queries = tokens / layout.context;
      const keys = tokens + context;
      const product = gemm(queries, keys, d, headBatches);
      const cells = headBatches * queries * keys;
      // scores and context have the same sizes, cube root and matrices included
      addOperation(sum, floor, product, product, product);
      addOperation(sum, floor, product, product, product);
      addOperation(sum, floor, traffic(4 * cells), traffic(6 * cells));
      if (training.dropout) addOperation(sum, floor, traffic(5 * cells), traffic(5 * cells));
    }
    const exchanged = exchange(batch, tokens);
    return {
      forward: sum.forward + exchanged,
      backward: sum.backward + exchanged,
      weight: 0,
      selective: training.attention === 'flash' ? 0 : sum.forward,
      idleOnFloor: idleOnFloor(sum),
    };
  };
}

/** Context parallelism by all-to-all of q, k, v and the output (heads for tokens). */
function contextParallelSeconds({ model, training, layout, cluster }: CostInputs, localTokens: number): number {
  const ranks = layout.context;
  if (ranks <= 1) return 0;
  const width = 2 * (model.heads / layout.tensor + keyValueHeadsPerRank(model, layout.tensor)) * model.headDim;
  const bytes = elementBytes(training) * localTokens * width;
  return ((ranks - 1) / ranks) * (bytes / nodeBusBandwidth(cluster.links, ranks));
}
