import type { LayerShape } from '../../core/domain/profile';
import { accumulate, accumulateProduct, addGradient, deferred, type Emit, saved, weight } from './emit';
import { gate, gateBackward, geluBackward } from './mlp';
import type { Value } from './onnx';
import type { Dims } from './sources';

type ExpertCounts = NonNullable<LayerShape['experts']>;

/**
 * The assignment of tokens to experts. Slot s = token * active + j goes to expert s mod count, at its row floor(s / count): every expert
 * gets as many rows, whatever the router chooses, as a trained router gives it on average. Rows of an expert are rounded up; those past the
 * last slot repeat a token and are dropped.
 */
interface Routing {
  /** [1]: rows of each expert. */
  readonly expertRows: Value;
  /** [rows, active]: expert of each slot. */
  readonly expertOfSlot: Value;
  /** [rows, active]: row of each slot among those of all experts. */
  readonly positionOfSlot: Value;
  /** [count, expertRows]: slot of each expert's row; those past the last are at least `slots`. */
  readonly slotOfRow: Value;
  /** The same for tokens, those past the last being the last. */
  readonly tokenOfRow: Value;
  /** [1]: rows * active. */
  readonly slots: Value;
}

/**
 * Mixture of experts of x [rows, hidden]: `active` of `count` experts a token, weighted by the softmax of their router logits. The router's
 * own choice is computed (result `routed`), but the experts are taken in turn so that every slice has a balanced load.
 */
export function experts(emit: Emit, x: Value, counts: ExpertCounts): Value {
  const { graph, shape } = emit;
  const routing = emitRouting(emit, counts);
  const gates = chosenGates(emit, x, routing, counts);
  const dispatched = graph.node('Gather', [x, routing.tokenOfRow], { axis: 0 });
  const wide = (name: string) => {
    const value = expertLinear(emit, dispatched, name, counts, shape.hidden, shape.ffn);
    emit.save(`${name}Out`, value);
    return value;
  };
  const activated = shape.gatedMlp ? gate(emit, wide('gate'), wide('up')) : graph.node('Gelu', [wide('up')]);
  emit.save('activated', activated);
  const narrow = graph.reshape(expertLinear(emit, activated, 'down', counts, shape.ffn, shape.hidden), [-1, shape.hidden]);
  const returned = graph.node('Gather', [narrow, routing.positionOfSlot], { axis: 0 });
  emit.save('returned', returned);
  return graph.reshape(graph.node('MatMul', [graph.reshape(gates, [-1, 1, counts.active]), returned]), [-1, shape.hidden]);
}

function chosenGates(emit: Emit, x: Value, routing: Routing, counts: ExpertCounts): Value {
  const { graph, shape, precision } = emit;
  const logits = graph.node('MatMul', [x, weight(emit, 'router', [shape.hidden, counts.count])]);
  const kept = graph.integers([Math.min(counts.active, counts.count)]);
  // CUDA has no TopK of bfloat16.
  const [, routed] = graph.nodes('TopK', ['logits', 'experts'], [graph.cast(logits, precision, 'fp32'), kept], { axis: -1 });
  emit.result('routed', routed, 'int64');
  const gates = graph.node('Softmax', [graph.node('GatherElements', [logits, routing.expertOfSlot], { axis: 1 })], { axis: -1 });
  emit.save('gates', gates);
  return gates;
}

/** Gradient of `experts` to its input `x`; accumulates those of the experts' weights and of the router's. */
export function expertsBackward(emit: Emit, x: Value, dy: Value, counts: ExpertCounts): Value {
  const { graph, shape } = emit;
  const routing = emitRouting(emit, counts);
  const gates = saved(emit, 'gates', ['rows', counts.active]);
  const wide = (name: string) => saved(emit, name, expertDims(emit, routing, counts, shape.ffn));
  const dReturned = graph.node('Mul', [graph.node('Gather', [dy, routing.tokenOfRow], { axis: 0 }), gateOfRow(emit, gates, routing)]);
  const rowDims = (width: number): Dims => expertDims(emit, routing, counts, width);
  const dActivated = expertLinearBackward(emit, wide('activated'), dReturned, 'down', counts, shape.ffn, shape.hidden, rowDims);
  const dispatched = graph.node('Gather', [x, routing.tokenOfRow], { axis: 0 });
  const back = (name: string, d: Value) => expertLinearBackward(emit, dispatched, d, name, counts, shape.hidden, shape.ffn, rowDims);
  let dDispatched: Value;
  if (shape.gatedMlp) {
    const { dGate, dUp } = gateBackward(emit, wide('gateOut'), wide('upOut'), dActivated);
    dDispatched = graph.node('Add', [back('gate', dGate), back('up', dUp)]);
  } else {
    dDispatched = back('up', geluBackward(emit, wide('upOut'), dActivated));
  }
  const bySlot = graph.node('Gather', [graph.reshape(dDispatched, [-1, shape.hidden]), routing.positionOfSlot], { axis: 0 });
  const combined = graph.node('ReduceSum', [bySlot, graph.integers([1])], { keepdims: 0 });
  return graph.node('Add', [combined, routerBackward(emit, x, dy, gates, routing, counts)]);
}

/** Gate of each expert's row, 0 where no slot is: [count, expertRows, 1]. */
function gateOfRow(emit: Emit, gates: Value, routing: Routing): Value {
  const { graph, precision } = emit;
  const last = graph.node('Sub', [routing.slots, graph.integers([1])]);
  const slot = graph.node('Min', [routing.slotOfRow, last]);
  const gateValue = graph.node('Gather', [graph.reshape(gates, [-1]), slot], { axis: 0 });
  const filled = graph.node('Where', [graph.node('Less', [routing.slotOfRow, routing.slots]), gateValue, graph.scalar(0, precision)]);
  return graph.node('Unsqueeze', [filled, graph.integers([2])]);
}

function routerBackward(emit: Emit, x: Value, dy: Value, gates: Value, routing: Routing, { count, active }: ExpertCounts): Value {
  const { graph, shape, sources, precision } = emit;
  const returned = saved(emit, 'returned', ['rows', active, shape.hidden]);
  const dGates = graph.reshape(graph.node('MatMul', [returned, graph.reshape(dy, [-1, shape.hidden, 1])]), [-1, active]);
  const along = graph.node('ReduceSum', [graph.node('Mul', [gates, dGates]), graph.integers([-1])], { keepdims: 1 });
  const dChosen = graph.node('Mul', [gates, graph.node('Sub', [dGates, along])]);
  const extents = graph.node('Concat', [sources.sizes.rows, graph.integers([count])], { axis: 0 });
  const zeros = graph.node('Expand', [graph.scalar(0, precision), extents]);
  const dLogits = graph.node('ScatterElements', [zeros, routing.expertOfSlot, dChosen], { axis: 1 });
  accumulateProduct(emit, 'router', x, dLogits, [shape.hidden, count]);
  return graph.node('Gemm', [dLogits, weight(emit, 'router', [shape.hidden, count])], { transB: 1 });
}

function expertLinear(emit: Emit, x: Value, name: string, { count }: ExpertCounts, inWidth: number, outWidth: number): Value {
  const y = emit.graph.node('MatMul', [x, weight(emit, name, [count, inWidth, outWidth])]);
  return emit.shape.mlpBias ? emit.graph.node('Add', [y, weight(emit, `${name}Bias`, [count, 1, outWidth])]) : y;
}

function expertLinearBackward(
  emit: Emit,
  x: Value,
  dy: Value,
  name: string,
  { count }: ExpertCounts,
  inWidth: number,
  outWidth: number,
  rowDims: (width: number) => Dims,
): Value {
  const { graph } = emit;
  const transposed = (value: Value) => graph.node('Transpose', [value], { perm: [0, 2, 1] });
  const gradient = deferred(emit, name, dy, rowDims(outWidth));
  if (gradient !== null) addGradient(emit, name, graph.node('MatMul', [transposed(x), gradient]), [count, inWidth, outWidth]);
  if (emit.shape.mlpBias) {
    accumulate(emit, `${name}Bias`, graph.node('ReduceSum', [dy, graph.integers([1])], { keepdims: 1 }), [count, 1, outWidth]);
  }
  return graph.node('MatMul', [dy, transposed(weight(emit, name, [count, inWidth, outWidth]))]);
}

function expertDims({ limits }: Emit, routing: Routing, { count, active }: ExpertCounts, width: number): Dims {
  const largest = Math.ceil((limits.batch * limits.tokens * active) / count);
  return [count, { name: 'expertRows', size: routing.expertRows, largest }, width];
}

function emitRouting(emit: Emit, { count, active }: ExpertCounts): Routing {
  const { graph, sources, limits } = emit;
  const { rows } = sources.sizes;
  const integer = (value: number) => graph.scalar(value, 'int64');
  const most = Math.ceil((limits.batch * limits.tokens * active) / count);
  const everySlot = graph.node('Range', [integer(0), integer(most * count), integer(1)]);
  const slots = graph.node('Mul', [rows, integer(active)]);
  const expertRows = graph.node('Div', [graph.node('Add', [slots, integer(count - 1)]), integer(count)]);
  const firstSlots = (values: Value) => graph.node('Slice', [values, graph.integers([0]), slots, graph.integers([0])]);
  const expertOfSlot = firstSlots(graph.node('Mod', [everySlot, integer(count)]));
  const rowOfSlot = firstSlots(graph.node('Div', [everySlot, integer(count)]));
  const position = graph.node('Add', [graph.node('Mul', [expertOfSlot, expertRows]), rowOfSlot]);
  const slotTable = graph.node('Transpose', [graph.reshape(everySlot, [most, count])], { perm: [1, 0] });
  const firstRows = (table: Value) => graph.node('Slice', [table, graph.integers([0]), expertRows, graph.integers([1])]);
  const lastToken = graph.node('Sub', [rows, integer(1)]);
  return {
    slots,
    expertRows,
    expertOfSlot: graph.reshape(expertOfSlot, [-1, active]),
    positionOfSlot: graph.reshape(position, [-1, active]),
    slotOfRow: firstRows(slotTable),
    tokenOfRow: graph.node('Min', [firstRows(graph.node('Div', [slotTable, integer(active)])), lastToken]),
  };
}
