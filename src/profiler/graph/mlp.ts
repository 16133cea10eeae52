import { type Emit, linear, linearBackward, saved, scaled } from './emit';
import type { Value } from './onnx';

/** Feed-forward block of x [rows, hidden]: GELU (erf), or SiLU(gate) * up. */
export function mlp(emit: Emit, x: Value): Value {
  const { shape } = emit;
  const wide = (name: string) => {
    const value = linear(emit, x, name, shape.hidden, shape.ffn, shape.mlpBias);
    emit.save(`${name}Out`, value);
    return value;
  };
  const activated = shape.gatedMlp ? gate(emit, wide('gate'), wide('up')) : emit.graph.node('Gelu', [wide('up')]);
  emit.save('activated', activated);
  return linear(emit, activated, 'down', shape.ffn, shape.hidden, shape.mlpBias);
}

/** Gradient of `mlp` to its input `x`; accumulates those of its weights. */
export function mlpBackward(emit: Emit, x: Value, dy: Value): Value {
  const { shape } = emit;
  const activated = saved(emit, 'activated', ['rows', shape.ffn]);
  const dActivated = linearBackward(emit, activated, dy, 'down', shape.ffn, shape.hidden, shape.mlpBias);
  const up = saved(emit, 'upOut', ['rows', shape.ffn]);
  const back = (name: string, d: Value, sum: readonly Value[] = []) =>
    linearBackward(emit, x, d, name, shape.hidden, shape.ffn, shape.mlpBias, sum);
  if (!shape.gatedMlp) return back('up', geluBackward(emit, up, dActivated));
  const { dGate, dUp } = gateBackward(emit, saved(emit, 'gateOut', ['rows', shape.ffn]), up, dActivated);
  return back('gate', dGate, [back('up', dUp)]);
}

/** SiLU(gate) * up. */
export function gate(emit: Emit, gateValue: Value, up: Value): Value {
  const { graph } = emit;
  return graph.node('Mul', [graph.node('Mul', [gateValue, graph.node('Sigmoid', [gateValue])]), up]);
}

export function gateBackward(emit: Emit, gateValue: Value, up: Value, dy: Value): { readonly dGate: Value; readonly dUp: Value } {
  const { graph } = emit;
  const sigmoid = graph.node('Sigmoid', [gateValue]);
  const silu = graph.node('Mul', [gateValue, sigmoid]);
  // silu' = sigmoid + silu (1 - sigmoid)
  const slope = graph.node('Sub', [graph.node('Add', [sigmoid, silu]), graph.node('Mul', [silu, sigmoid])]);
  return { dGate: graph.node('Mul', [graph.node('Mul', [dy, up]), slope]), dUp: graph.node('Mul', [dy, silu]) };
}

/** dy times gelu'(x) = (1 + erf(z)) / 2 + z exp(-z^2) / sqrt(pi), z = x / sqrt(2). */
export function geluBackward(emit: Emit, x: Value, dy: Value): Value {
  const { graph, precision } = emit;
  const z = scaled(emit, x, Math.SQRT1_2);
  const below = graph.node('Add', [scaled(emit, graph.node('Erf', [z]), 0.5), graph.scalar(0.5, precision)]);
  const bell = graph.node('Exp', [graph.node('Neg', [graph.node('Mul', [z, z])])]);
  const slope = graph.node('Add', [below, scaled(emit, graph.node('Mul', [z, bell]), 1 / Math.sqrt(Math.PI))]);
  return graph.node('Mul', [dy, slope]);
}
