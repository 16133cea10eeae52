import type { Precision } from '../../core/domain/cluster';
import type { LayerShape } from '../../core/domain/profile';
import type { ProfilerJob } from '../../protocol/profiler';
import type { ElementType, Graph, Value } from './onnx';
import type { Dims, Sources } from './sources';

/**
 * What runs attention. `plain`: GEMMs, a mask and a softmax. The others are one operator: of ONNX Runtime's own domain
 * (`MultiHeadAttention`, as many key-value heads as heads; `GroupQueryAttention`) or of ONNX (`Attention`, opset 23). Backward they
 * recompute the probabilities from the queries and keys.
 */
export type AttentionOperator = 'plain' | 'MultiHeadAttention' | 'GroupQueryAttention' | 'Attention';

/** What ties the pass of a slice to the other passes of its step. */
interface StepEmit {
  /** int64 [1]: tokens of the whole step, which the loss is the mean over. */
  readonly lossTokens: Value;
}

/** What every part of a graph is written with. Activations are rows: [batch * tokens, width]. */
export interface Emit {
  readonly graph: Graph;
  readonly sources: Sources;
  readonly shape: LayerShape;
  readonly precision: Precision;
  /** Type that weight gradients accumulate in. */
  readonly gradientType: Precision;
  readonly attention: AttentionOperator;
  readonly limits: ProfilerJob['limits'];
  /** Before names of operands and results, so that two layers can share a graph. */
  readonly prefix: string;
  /** Whether `save` does anything. */
  readonly saves: boolean;
  /**
   * Which part of a backward pass is written: all; `input`: gradients of inputs, biases and gains, and as results `w.NAME` what the
   * products of weight gradients still need; `weight`: those products, from that.
   */
  readonly backward: 'whole' | 'input' | 'weight';
  /** Only when a whole step is rehearsed; null when a pass is timed or checked by itself. */
  readonly step: StepEmit | null;
  /** Keep a tensor that the backward pass needs. */
  save(name: string, value: Value, type?: Precision): void;
  result(name: string, value: Value, type?: ElementType): void;
}

export function weight(emit: Emit, name: string, dims: readonly number[]): Value {
  return emit.sources.parameter(emit.prefix + name, dims, emit.precision);
}

/** A saved activation, as the backward pass gets it back. `type`: of the saved tensor, which is given in the precision of the graph. */
export function saved(emit: Emit, name: string, dims: Parameters<Sources['tensor']>[1], type: Precision = emit.precision): Value {
  return emit.graph.cast(emit.sources.tensor(emit.prefix + name, dims, type), type, emit.precision);
}

/** x [rows, in] W [in, out] + b, the bias only when there is one. */
export function linear(emit: Emit, x: Value, name: string, inWidth: number, outWidth: number, bias: boolean): Value {
  const w = weight(emit, name, [inWidth, outWidth]);
  if (!bias) return emit.graph.node('MatMul', [x, w]);
  return emit.graph.node('Gemm', [x, w, weight(emit, `${name}Bias`, [outWidth])]);
}

/** Gradient of `linear`: returns dx (plus `sum`, when given), accumulates dW = x^T dy and db. */
export function linearBackward(
  emit: Emit,
  x: Value,
  dy: Value,
  name: string,
  inWidth: number,
  outWidth: number,
  bias: boolean,
  sum: readonly Value[] = [],
): Value {
  accumulateProduct(emit, name, x, dy, [inWidth, outWidth]);
  if (bias) accumulate(emit, `${name}Bias`, sumRows(emit, dy), [outWidth]);
  return emit.graph.node('Gemm', [dy, weight(emit, name, [inWidth, outWidth]), ...sum], { transB: 1 });
}

/** Result `d.NAME` = `main.NAME` + a^T b, of [rows, in] and [rows, out]; or only b, and computed from b only, where backward is split. */
export function accumulateProduct(emit: Emit, name: string, a: Value, b: Value, dims: readonly [number, number]): void {
  const gradient = deferred(emit, name, b, ['rows', dims[1]]);
  if (gradient !== null) addProduct(emit, name, a, gradient, dims);
}

/** What the gradient of a weight is computed from in addition to saved activations: null where that is only kept, as result `w.NAME`. */
export function deferred(emit: Emit, name: string, gradient: Value, dims: Dims): Value | null {
  switch (emit.backward) {
    case 'whole':
      return gradient;
    case 'input':
      emit.result(`w.${name}`, gradient);
      return null;
    case 'weight':
      return emit.sources.tensor(`w.${emit.prefix}${name}`, dims, emit.precision);
  }
}

function addProduct(emit: Emit, name: string, a: Value, b: Value, dims: readonly [number, number]): void {
  if (emit.gradientType !== emit.precision) {
    addGradient(emit, name, emit.graph.node('Gemm', [a, b], { transA: 1 }), dims);
    return;
  }
  const main = emit.sources.parameter(`main.${emit.prefix}${name}`, dims, emit.gradientType);
  emit.result(`d.${name}`, emit.graph.node('Gemm', [a, b, main], { transA: 1 }), emit.gradientType);
}

/** Result `d.NAME` = `main.NAME` + gradient, with the gradients of inputs where backward is split. */
export function accumulate(emit: Emit, name: string, gradient: Value, dims: readonly number[]): void {
  if (emit.backward !== 'weight') addGradient(emit, name, gradient, dims);
}

/** The same whatever part of backward is written. */
export function addGradient(emit: Emit, name: string, gradient: Value, dims: readonly number[]): void {
  const main = emit.sources.parameter(`main.${emit.prefix}${name}`, dims, emit.gradientType);
  const wide = emit.graph.cast(gradient, emit.precision, emit.gradientType);
  emit.result(`d.${name}`, emit.graph.node('Add', [main, wide]), emit.gradientType);
}

/** [rows, width] to [width]. */
export function sumRows(emit: Emit, value: Value): Value {
  return emit.graph.node('ReduceSum', [value, emit.graph.integers([0])], { keepdims: 0 });
}

export function scaled(emit: Emit, value: Value, factor: number): Value {
  return emit.graph.node('Mul', [value, emit.graph.scalar(factor, emit.precision)]);
}
