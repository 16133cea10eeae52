import { accumulate, type Emit, saved, sumRows, weight } from './emit';
import type { Value } from './onnx';
import type { Dims } from './sources';

type NormKind = 'layernorm' | 'rmsnorm';

const epsilon = { axis: -1, epsilon: { float: 1e-5 } };

/**
 * LayerNorm or RMSNorm of the last axis of x [rows, width]; saves the statistics that the backward pass needs. RMSNorm is ONNX Runtime's
 * SimplifiedLayerNormalization, which CPU, CUDA, DirectML and WebGPU all have; it sums squares in fp32 whatever the precision, as training
 * does.
 */
export function norm(emit: Emit, kind: NormKind, x: Value, name: string, width: number): Value {
  const gain = weight(emit, name, [width]);
  const operator = kind === 'rmsnorm' ? 'SimplifiedLayerNormalization' : 'LayerNormalization';
  const inputs = kind === 'rmsnorm' ? [x, gain] : [x, gain, weight(emit, `${name}Bias`, [width])];
  // Those of SimplifiedLayerNormalization are wrong on WebGPU (ONNX Runtime 1.30.0), so timed graphs do not ask for them.
  if (!emit.saves) return emit.graph.node(operator, inputs, { ...epsilon, stash_type: 1 });
  if (kind === 'rmsnorm') {
    const [y, deviation] = emit.graph.nodes(operator, ['y', 'deviation'], inputs, { ...epsilon, stash_type: 1 });
    emit.save(`${name}.deviation`, deviation, 'fp32');
    return y;
  }
  const [y, mean, deviation] = emit.graph.nodes(operator, ['y', 'mean', 'deviation'], inputs, { ...epsilon, stash_type: 1 });
  emit.save(`${name}.mean`, mean, 'fp32');
  emit.save(`${name}.deviation`, deviation, 'fp32');
  return y;
}

/**
 * Gradient of `norm` to x, plus accumulated gradients of gain and bias. `rows`: the extent of the first axis; the statistics are one number
 * a row, in fp32 as in training (CUDA has no ReduceMean of bfloat16 either).
 */
export function normBackward(emit: Emit, kind: NormKind, x: Value, dy: Value, name: string, width: number, rows: Dims = ['rows']): Value {
  const { graph, precision } = emit;
  const statistics: Dims = [...rows, 1];
  const centred = kind === 'rmsnorm' ? x : graph.node('Sub', [x, saved(emit, `${name}.mean`, statistics, 'fp32')]);
  const deviation = saved(emit, `${name}.deviation`, statistics, 'fp32');
  const normalized = graph.node('Mul', [centred, deviation]);
  const g = graph.node('Mul', [dy, weight(emit, name, [width])]);
  const mean = (value: Value) => {
    const wide = graph.cast(value, precision, 'fp32');
    return graph.cast(graph.node('ReduceMean', [wide, graph.integers([-1])], { keepdims: 1 }), 'fp32', precision);
  };
  const along = graph.node('Mul', [normalized, mean(graph.node('Mul', [g, normalized]))]);
  const level = kind === 'rmsnorm' ? g : graph.node('Sub', [g, mean(g)]);
  accumulate(emit, name, sumAll(emit, graph.node('Mul', [dy, normalized]), rows.length), [width]);
  if (kind === 'layernorm') accumulate(emit, `${name}Bias`, sumAll(emit, dy, rows.length), [width]);
  return graph.node('Mul', [graph.node('Sub', [level, along]), deviation]);
}

function sumAll(emit: Emit, value: Value, axes: number): Value {
  if (axes === 1) return sumRows(emit, value);
  return emit.graph.node('ReduceSum', [value, emit.graph.integers([...Array(axes).keys()])], { keepdims: 0 });
}
