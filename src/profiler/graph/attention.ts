import type { LayerShape } from '../../core/domain/profile';
import type { ProfilerJob } from '../../protocol/profiler';
import { type AttentionOperator, type Emit, scaled } from './emit';
import type { Value } from './onnx';

/** Queries, and keys and values of the slice, as rows; keys and values of the context as [batch, kvHeads, context, headDim]. */
interface AttentionInputs {
  readonly query: Value;
  readonly key: Value;
  readonly value: Value;
  readonly pastKey: Value;
  readonly pastValue: Value;
}

interface AttentionOutputs {
  /** Rows of heads * headDim. */
  readonly output: Value;
  /** Context and slice: [batch, kvHeads, total, headDim]. */
  readonly key: Value;
  readonly value: Value;
  /** [batch, heads, tokens, total]; null where one operator runs the attention and keeps them to itself. */
  readonly probabilities: Value | null;
}

/**
 * What can run the attention of the job, the one to try first first; `plain` runs everywhere. GroupQueryAttention refuses slices with
 * context of more than one sequence (ONNX Runtime 1.30.0: "batch_size must be 1 when sequence_length > 1 and past context is given").
 */
export function attentionOperators({
  shape,
  limits,
  attention,
}: Pick<ProfilerJob, 'shape' | 'limits' | 'attention'>): readonly AttentionOperator[] {
  if (attention === 'plain') return ['plain'];
  if (shape.heads === shape.kvHeads) return ['MultiHeadAttention', 'Attention', 'plain'];
  return limits.batch === 1 ? ['GroupQueryAttention', 'Attention', 'plain'] : ['Attention', 'plain'];
}

/** Causal attention of a slice to its context and itself. */
export function attend(emit: Emit, inputs: AttentionInputs): AttentionOutputs {
  switch (emit.attention) {
    case 'plain':
      return attendPlain(emit, inputs);
    case 'MultiHeadAttention':
      return attendMultiHead(emit, inputs);
    case 'GroupQueryAttention':
      return attendGroupQuery(emit, inputs);
    case 'Attention':
      return attendStandard(emit, inputs);
  }
}

function attendPlain(emit: Emit, inputs: AttentionInputs): AttentionOutputs {
  const { graph, shape } = emit;
  const key = graph.node('Concat', [inputs.pastKey, toHeads(emit, inputs.key, shape.kvHeads)], { axis: 2 });
  const value = graph.node('Concat', [inputs.pastValue, toHeads(emit, inputs.value, shape.kvHeads)], { axis: 2 });
  const query = toHeads(emit, scaled(emit, inputs.query, attentionScale(shape)), shape.heads);
  const probabilities = causalSoftmax(emit, query, key);
  const output = graph.node('MatMul', [grouped(emit, probabilities, emit.sources.sizes.total), value]);
  return { output: toRows(emit, output, shape.heads), key, value, probabilities };
}

function attendMultiHead(emit: Emit, inputs: AttentionInputs): AttentionOutputs {
  const { graph, shape } = emit;
  const operands = [...sequences(emit, inputs), '', '', '', inputs.pastKey, inputs.pastValue];
  const [output, key, value] = graph.nodes('com.microsoft:MultiHeadAttention', ['output', 'key', 'value'], operands, {
    num_heads: shape.heads,
    unidirectional: 1,
    scale: { float: attentionScale(shape) },
  });
  return { output: graph.reshape(output, [-1, shape.heads * shape.headDim]), key, value, probabilities: null };
}

function attendGroupQuery(emit: Emit, inputs: AttentionInputs): AttentionOutputs {
  const { graph, shape, sources } = emit;
  const total = graph.cast(sources.sizes.total, 'int64', 'int32');
  const last = graph.node('Expand', [graph.node('Sub', [total, graph.scalar(1, 'int32')]), sources.sizes.batch]);
  const operands = [...sequences(emit, inputs), inputs.pastKey, inputs.pastValue, last, graph.reshape(total, [])];
  const [output, key, value] = graph.nodes('com.microsoft:GroupQueryAttention', ['output', 'key', 'value'], operands, {
    num_heads: shape.heads,
    kv_num_heads: shape.kvHeads,
    scale: { float: attentionScale(shape) },
  });
  return { output: graph.reshape(output, [-1, shape.heads * shape.headDim]), key, value, probabilities: null };
}

function attendStandard(emit: Emit, inputs: AttentionInputs): AttentionOutputs {
  const { graph, shape } = emit;
  const operands = [...sequences(emit, inputs), '', inputs.pastKey, inputs.pastValue];
  const [output, key, value] = graph.nodes('Attention', ['output', 'key', 'value'], operands, {
    q_num_heads: shape.heads,
    kv_num_heads: shape.kvHeads,
    is_causal: 1,
    scale: { float: attentionScale(shape) },
  });
  return { output: graph.reshape(output, [-1, shape.heads * shape.headDim]), key, value, probabilities: null };
}

/**
 * What the backward pass of attention starts from; layouts as in AttentionInputs and AttentionOutputs. `probabilities` null: computed again
 * from query and key.
 */
export interface AttentionBackwardInputs {
  readonly query: Value;
  readonly key: Value;
  readonly value: Value;
  readonly output: Value;
  readonly probabilities: Value | null;
  readonly dOutput: Value;
}

/** Gradients of the queries, as rows, and of the keys and values of context and slice: [batch, kvHeads, total, headDim]. */
interface AttentionGradients {
  readonly dQuery: Value;
  readonly dKey: Value;
  readonly dValue: Value;
}

/** Backward of `attend`: dV = P^T dO, dS = P (dP - rowsum(dO O)), dQ = dS K, dK = dS^T Q (FlashAttention, appendix B.4). */
export function attendBackward(emit: Emit, inputs: AttentionBackwardInputs): AttentionGradients {
  const { graph, shape, sources } = emit;
  const { total } = sources.sizes;
  const transposed = (value: Value) => graph.node('Transpose', [value], { perm: [0, 1, 3, 2] });
  const query = toHeads(emit, scaled(emit, inputs.query, attentionScale(shape)), shape.heads);
  const p = inputs.probabilities ?? causalSoftmax(emit, query, inputs.key);
  const groupedP = grouped(emit, p, total);
  const dOutput = grouped(emit, toHeads(emit, inputs.dOutput, shape.heads), shape.headDim);
  const dValue = graph.node('MatMul', [transposed(groupedP), dOutput]);
  const dP = graph.node('MatMul', [dOutput, transposed(inputs.value)]);
  const rowSums = graph.node('Transpose', [outputRowSums(emit, inputs)], { perm: [0, 2, 1, 3] });
  const level = graph.node('Sub', [dP, graph.reshape(rowSums, [sources.sizes.batch, shape.kvHeads, -1, 1])]);
  const dScores = graph.node('Mul', [groupedP, level]);
  const dQuery = toRows(emit, graph.node('MatMul', [dScores, inputs.key]), shape.heads);
  const dKey = graph.node('MatMul', [transposed(dScores), grouped(emit, query, shape.headDim)]);
  return { dQuery: scaled(emit, dQuery, attentionScale(shape)), dKey, dValue };
}

/** Row sums of dP P, which are those of dO O: [batch, tokens, heads, 1]. */
function outputRowSums(emit: Emit, { dOutput, output }: AttentionBackwardInputs): Value {
  const { graph, shape, sources } = emit;
  const product = graph.reshape(graph.node('Mul', [dOutput, output]), [sources.sizes.batch, -1, shape.heads, shape.headDim]);
  return graph.node('ReduceSum', [product, graph.integers([-1])], { keepdims: 1 });
}

/** Softmax of the scaled query's scores against the keys no later than it: [batch, heads, tokens, total]. */
function causalSoftmax(emit: Emit, query: Value, key: Value): Value {
  const { graph, shape, precision, sources } = emit;
  const { batch, total } = sources.sizes;
  const scores = graph.node('MatMul', [grouped(emit, query, shape.headDim), graph.node('Transpose', [key], { perm: [0, 1, 3, 2] })]);
  const byHead = graph.reshape(scores, [batch, shape.heads, -1, total]);
  const lowest = graph.scalar(precision === 'fp16' ? -65504 : -1e38, precision);
  return graph.node('Softmax', [graph.node('Where', [visible(emit), byHead, lowest])], { axis: -1 });
}

/** Which key each query sees: bool [tokens, total]. Positions are fp32, exact up to 2^24, since not every provider compares integers. */
function visible(emit: Emit): Value {
  const { graph, limits, sources } = emit;
  const { context, total } = sources.sizes;
  const positions = graph.node('Range', [graph.scalar(0, 'fp32'), graph.scalar(limits.sequence, 'fp32'), graph.scalar(1, 'fp32')]);
  const keys = graph.node('Slice', [positions, graph.integers([0]), total, graph.integers([0])]);
  const queries = graph.reshape(graph.node('Slice', [positions, context, total, graph.integers([0])]), [-1, 1]);
  return graph.node('LessOrEqual', [keys, queries]);
}

/** Rows to [batch, heads, tokens, headDim]. */
function toHeads(emit: Emit, rows: Value, heads: number): Value {
  const { graph, shape, sources } = emit;
  return graph.node('Transpose', [graph.reshape(rows, [sources.sizes.batch, -1, heads, shape.headDim])], { perm: [0, 2, 1, 3] });
}

/** [batch, heads, tokens, headDim], or the same grouped, to rows. */
export function toRows(emit: Emit, value: Value, heads: number): Value {
  const { graph, shape, sources } = emit;
  const { batch, tokens } = sources.sizes;
  const byHead = graph.reshape(value, [batch, heads, tokens, shape.headDim]);
  return graph.reshape(graph.node('Transpose', [byHead], { perm: [0, 2, 1, 3] }), [-1, heads * shape.headDim]);
}

/**
 * [batch, heads, tokens, width] to [batch, kvHeads, heads / kvHeads * tokens, width]: the heads that share keys become rows of one product,
 * which moves no data.
 */
function grouped(emit: Emit, value: Value, width: number | Value): Value {
  if (emit.shape.heads === emit.shape.kvHeads) return value;
  return emit.graph.reshape(value, [emit.sources.sizes.batch, emit.shape.kvHeads, -1, width]);
}

function sequences(emit: Emit, { query, key, value }: AttentionInputs): readonly [Value, Value, Value] {
  const { graph, shape, sources } = emit;
  const { batch } = sources.sizes;
  const kvWidth = shape.kvHeads * shape.headDim;
  return [
    graph.reshape(query, [batch, -1, shape.heads * shape.headDim]),
    graph.reshape(key, [batch, -1, kvWidth]),
    graph.reshape(value, [batch, -1, kvWidth]),
  ];
}

function attentionScale(shape: LayerShape): number {
  return 1 / Math.sqrt(shape.headDim);
}
