import type { Emit } from './emit';
import type { Value } from './onnx';

const theta = 10000;

/**
 * Rotary position embedding of x [rows, heads * headDim] at positions context, context + 1, ...: pairs (i, i + headDim / 2) turned by
 * position * theta^(-2 i / headDim) (RoFormer, in the rotate-half order of Llama); `backward` turns them back. One operator where the
 * attention is one, plain operators otherwise.
 */
export function rotate(emit: Emit, x: Value, heads: number, direction: 'forward' | 'backward'): Value {
  return emit.attention === 'plain' ? rotatePlain(emit, x, heads, direction) : rotateFused(emit, x, heads, direction);
}

function rotateFused(emit: Emit, x: Value, heads: number, direction: 'forward' | 'backward'): Value {
  const { graph, sources, shape } = emit;
  const { cos, sin } = tables(emit);
  const rows = graph.reshape(x, [sources.sizes.batch, -1, heads * shape.headDim]);
  const signed = direction === 'forward' ? sin : graph.node('Neg', [sin]);
  return graph.reshape(graph.node('com.microsoft:RotaryEmbedding', [rows, sources.sizes.context, cos, signed], { interleaved: 0 }), [
    -1,
    heads * shape.headDim,
  ]);
}

function rotatePlain(emit: Emit, x: Value, heads: number, direction: 'forward' | 'backward'): Value {
  const { graph, sources, shape } = emit;
  const half = shape.headDim / 2;
  const { context, total, batch } = sources.sizes;
  const here = (table: Value) => graph.reshape(graph.node('Slice', [table, context, total, graph.integers([0])]), [-1, 1, half]);
  const { cos, sin } = tables(emit);
  const [cosHere, sinHere] = [here(cos), here(sin)];
  const pairs = graph.reshape(x, [batch, -1, heads, shape.headDim]);
  const [first, second] = graph.nodes('Split', ['first', 'second'], [pairs, graph.integers([half, half])], { axis: 3 });
  const times = (a: Value, b: Value) => graph.node('Mul', [a, b]);
  const [minus, plus] = direction === 'forward' ? ['Sub', 'Add'] : ['Add', 'Sub'];
  const turned = [
    graph.node(minus, [times(first, cosHere), times(second, sinHere)]),
    graph.node(plus, [times(second, cosHere), times(first, sinHere)]),
  ];
  return graph.reshape(graph.node('Concat', turned, { axis: 3 }), [-1, heads * shape.headDim]);
}

/** Cosines and sines [sequence, headDim / 2] of the longest sequence; ONNX Runtime folds them into constants. */
function tables(emit: Emit): { readonly cos: Value; readonly sin: Value } {
  const { graph, shape, limits, precision } = emit;
  const range = graph.node('Range', [graph.scalar(0, 'fp32'), graph.scalar(limits.sequence, 'fp32'), graph.scalar(1, 'fp32')]);
  const frequencies = Float32Array.from({ length: shape.headDim / 2 }, (_, i) => theta ** ((-2 * i) / shape.headDim));
  const angles = graph.node('Mul', [graph.reshape(range, [-1, 1]), graph.floats(frequencies)]);
  return {
    cos: graph.cast(graph.node('Cos', [angles]), 'fp32', precision),
    sin: graph.cast(graph.node('Sin', [angles]), 'fp32', precision),
  };
}
