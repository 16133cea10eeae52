import { attend, attendBackward, type AttentionBackwardInputs, toRows } from './attention';
import { type Emit, linear, linearBackward, saved } from './emit';
import { experts, expertsBackward } from './experts';
import { mlp, mlpBackward } from './mlp';
import { norm, normBackward } from './norms';
import type { Value } from './onnx';
import { rotate } from './rotary';

const widths = ({ shape }: Emit) => {
  const [query, key] = [shape.heads * shape.headDim, shape.kvHeads * shape.headDim];
  return { query, key, qkv: query + 2 * key };
};

/**
 * A pre-norm Transformer layer over a slice: x [rows, hidden] to y of the same extents. Takes `pastKey` and `pastValue` [batch, kvHeads,
 * context, headDim], gives `presentKey` and `presentValue` with the slice's own appended (after rotation and norm, as caches keep them).
 */
export function layerForward(emit: Emit, x: Value): Value {
  const { graph, shape } = emit;
  const normed = norm(emit, shape.norm, x, 'norm1', shape.hidden);
  emit.save('normed1', normed);
  const attended = attentionForward(emit, normed);
  const width = widths(emit);
  const middle = graph.node('Add', [x, linear(emit, attended, 'output', width.query, shape.hidden, shape.attentionOutputBias)]);
  emit.save('middle', middle);
  const normed2 = norm(emit, shape.norm, middle, 'norm2', shape.hidden);
  emit.save('normed2', normed2);
  return graph.node('Add', [middle, shape.experts === null ? mlp(emit, normed2) : experts(emit, normed2, shape.experts)]);
}

function attentionForward(emit: Emit, normed: Value): Value {
  const { graph, shape, sources } = emit;
  const width = widths(emit);
  const qkv = linear(emit, normed, 'qkv', shape.hidden, width.qkv, shape.qkvBias);
  const [q, k, value] = graph.nodes('Split', ['q', 'k', 'v'], [qkv, graph.integers([width.query, width.key, width.key])], { axis: 1 });
  const query = place(emit, q, 'query', shape.heads);
  const key = place(emit, k, 'key', shape.kvHeads);
  const past = (name: string) => sources.tensor(emit.prefix + name, ['batch', shape.kvHeads, 'context', shape.headDim], emit.precision);
  const attended = attend(emit, { query, key, value, pastKey: past('pastKey'), pastValue: past('pastValue') });
  emit.save('query', query);
  emit.save('attended', attended.output);
  if (attended.probabilities !== null) emit.save('probabilities', attended.probabilities);
  emit.result('presentKey', attended.key);
  emit.result('presentValue', attended.value);
  return attended.output;
}

/** Norm of each head, and rotation, of queries or keys [rows, heads * headDim]. */
function place(emit: Emit, rows: Value, name: 'query' | 'key', heads: number): Value {
  const { graph, shape } = emit;
  let placed = rows;
  if (shape.qkNorm) {
    emit.save(`${name}Raw`, placed);
    const byHead = graph.reshape(placed, [-1, heads, shape.headDim]);
    placed = graph.reshape(norm(emit, 'rmsnorm', byHead, `${name}Norm`, shape.headDim), [-1, heads * shape.headDim]);
  }
  return shape.rotary ? rotate(emit, placed, heads, 'forward') : placed;
}

function placeBackward(emit: Emit, gradient: Value, name: 'query' | 'key', heads: number): Value {
  const { graph, shape } = emit;
  const turned = shape.rotary ? rotate(emit, gradient, heads, 'backward') : gradient;
  if (!shape.qkNorm) return turned;
  const byHead = (rows: Value) => graph.reshape(rows, [-1, heads, shape.headDim]);
  const raw = byHead(saved(emit, `${name}Raw`, ['rows', heads * shape.headDim]));
  const back = normBackward(emit, 'rmsnorm', raw, byHead(turned), `${name}Norm`, shape.headDim, ['rows', heads]);
  return graph.reshape(back, [-1, heads * shape.headDim]);
}

/**
 * Backward of `layerForward`: dy [rows, hidden] to dx. Takes the saved activations and `dKeyIn`, `dValueIn` [batch, kvHeads, tokens,
 * headDim], what later slices put on this slice's keys and values; gives `dPastKey`, `dPastValue` and every weight's gradient on top of
 * `main.WEIGHT`.
 */
export function layerBackward(emit: Emit, dy: Value): Value {
  const { graph, shape } = emit;
  const rows = (name: string, width: number = shape.hidden) => saved(emit, name, ['rows', width]);
  const normed2 = rows('normed2');
  const dNormed2 = shape.experts === null ? mlpBackward(emit, normed2, dy) : expertsBackward(emit, normed2, dy, shape.experts);
  const dMiddle = graph.node('Add', [dy, normBackward(emit, shape.norm, rows('middle'), dNormed2, 'norm2', shape.hidden)]);
  const output = rows('attended', widths(emit).query);
  const dOutput = linearBackward(emit, output, dMiddle, 'output', widths(emit).query, shape.hidden, shape.attentionOutputBias);
  const dQkv = attentionGradient(emit, output, dOutput);
  const dNormed = linearBackward(emit, rows('normed1'), dQkv, 'qkv', shape.hidden, widths(emit).qkv, shape.qkvBias);
  return graph.node('Add', [dMiddle, normBackward(emit, shape.norm, rows('x'), dNormed, 'norm1', shape.hidden)]);
}

/** Gradient of queries, keys and values side by side: [rows, (heads + 2 kvHeads) * headDim]. */
function attentionGradient(emit: Emit, output: Value, dOutput: Value): Value {
  const { graph, shape } = emit;
  const { dQuery, dKey, dValue } = attendBackward(emit, { ...savedAttention(emit), output, dOutput });
  const own = (name: 'Key' | 'Value', gradient: Value) => {
    if (emit.step !== null) return ownInStep(emit, name, gradient);
    const { context, total } = emit.sources.sizes;
    emit.result(`dPast${name}`, graph.node('Slice', [gradient, graph.integers([0]), context, graph.integers([2])]));
    const here = graph.node('Slice', [gradient, context, total, graph.integers([2])]);
    const later = emit.sources.tensor(`${emit.prefix}d${name}In`, ['batch', shape.kvHeads, 'tokens', shape.headDim], emit.precision);
    return toRows(emit, graph.node('Add', [here, later]), shape.kvHeads);
  };
  const parts = [
    placeBackward(emit, dQuery, 'query', shape.heads),
    placeBackward(emit, own('Key', dKey), 'key', shape.kvHeads),
    own('Value', dValue),
  ];
  return graph.node('Concat', parts, { axis: 1 });
}

/**
 * The same in a step, where `dKeyIn` and `dValueIn` are of context and slice, [batch, kvHeads, total, headDim]: what later slices put on
 * all of them, so that `dPastKey` and `dPastValue` are all that the slices before this one need.
 */
function ownInStep(emit: Emit, name: 'Key' | 'Value', gradient: Value): Value {
  const { graph, shape, sources } = emit;
  const { context, total } = sources.sizes;
  const later = sources.tensor(`${emit.prefix}d${name}In`, ['batch', shape.kvHeads, 'total', shape.headDim], emit.precision);
  const sum = graph.node('Add', [gradient, later]);
  emit.result(`dPast${name}`, graph.node('Slice', [sum, graph.integers([0]), context, graph.integers([2])]));
  return toRows(emit, graph.node('Slice', [sum, context, total, graph.integers([2])]), shape.kvHeads);
}

function savedAttention(emit: Emit): Pick<AttentionBackwardInputs, 'query' | 'key' | 'value' | 'probabilities'> {
  const { shape } = emit;
  const total = (name: string) => saved(emit, name, ['batch', shape.kvHeads, 'total', shape.headDim]);
  return {
    query: saved(emit, 'query', ['rows', shape.heads * shape.headDim]),
    key: total('presentKey'),
    value: total('presentValue'),
    probabilities: emit.attention === 'plain' ? saved(emit, 'probabilities', ['batch', shape.heads, 'tokens', 'total']) : null,
  };
}
