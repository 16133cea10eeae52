import { accumulateProduct, type Emit, saved, weight } from './emit';
import { norm, normBackward } from './norms';
import type { Value } from './onnx';

/**
 * Token embedding [rows, hidden]: rows of the table by `ids` int64 [rows], plus learned positions context, context + 1, ... where the model
 * has them.
 */
export function embeddingForward(emit: Emit): Value {
  const { graph, shape, sources, limits } = emit;
  const { batch, context, total } = sources.sizes;
  const rows = graph.node('Gather', [weight(emit, 'tokenTable', [shape.vocab, shape.hidden]), sources.indices('ids', shape.vocab)], {
    axis: 0,
  });
  if (!shape.learnedPositions) return rows;
  const table = weight(emit, 'positionTable', [limits.sequence, shape.hidden]);
  const here = graph.node('Slice', [table, context, total, graph.integers([0])]);
  return graph.reshape(graph.node('Add', [graph.reshape(rows, [batch, -1, shape.hidden]), here]), [-1, shape.hidden]);
}

/**
 * Gradient of the embedding, row-sparse as training frameworks keep it: `d.tokenTable` [rows, hidden] = `main.tokenTable` [rows, hidden]
 * with dy's row i added to row `compactRows`[i]. Row r stands for the r-th different token of the slice, so a whole table is neither copied
 * nor timed; entries of `compactRows` are in [0, rows). The sum is in fp32 in every job: providers add no 16-bit rows at equal
 * indices. With learned positions also `d.positionTable` [tokens, hidden] = `main.positionTable` + dy summed over the batch.
 */
export function embeddingBackward(emit: Emit, dy: Value): void {
  const { graph, shape, sources, precision, gradientType } = emit;
  const index = graph.reshape(sources.indices('compactRows', 'rows'), [-1, 1]);
  const main = sources.tensor('main.tokenTable', ['rows', shape.hidden], 'fp32');
  const dTokens = graph.node('ScatterND', [main, index, graph.cast(dy, precision, 'fp32')], { reduction: 'add' });
  emit.result('d.tokenTable', dTokens, 'fp32');
  if (shape.learnedPositions) {
    const bySequence = graph.reshape(dy, [sources.sizes.batch, -1, shape.hidden]);
    const sum = graph.cast(graph.node('ReduceSum', [bySequence, graph.integers([0])], { keepdims: 0 }), precision, gradientType);
    const mainPositions = sources.tensor('main.positionTable', ['tokens', shape.hidden], gradientType);
    emit.result('d.positionTable', graph.node('Add', [mainPositions, sum]), gradientType);
  }
}

/**
 * Final norm, logits and mean cross-entropy of `labels` int64 [rows]: a scalar `loss` from x [rows, hidden]; in a step its share of the
 * step's.
 */
export function headForward(emit: Emit, x: Value): Value {
  const { graph, shape, sources, precision } = emit;
  const normed = norm(emit, shape.norm, x, 'finalNorm', shape.hidden);
  emit.save('normed', normed);
  const logits = graph.node('MatMul', [normed, weight(emit, 'head', [shape.hidden, shape.vocab])]);
  emit.save('logits', logits);
  const labels = graph.reshape(sources.indices('labels', shape.vocab), [-1, 1]);
  const ofLabel = (values: Value) => graph.cast(graph.node('GatherElements', [values, labels], { axis: 1 }), precision, 'fp32');
  // Softmax and the logarithm of one entry, as WebGPU has no LogSoftmax. In fp32, as in training; CUDA has no Log of bfloat16 either.
  const logLikelihood = graph.node('Log', [ofLabel(graph.node('Softmax', [logits], { axis: -1 }))]);
  emit.save('logSumExp', graph.node('Sub', [ofLabel(logits), logLikelihood]), 'fp32');
  const reduced = (operator: string) => graph.node(operator, [logLikelihood, graph.integers([0, 1])], { keepdims: 0 });
  const share = emit.step === null ? reduced('ReduceMean') : graph.node('Mul', [reduced('ReduceSum'), lossShare(emit)]);
  return graph.cast(graph.node('Neg', [share]), 'fp32', precision);
}

/**
 * Backward of `headForward` for a loss gradient of 1: softmax minus one-hot, from the saved logits and log-sum-exp, gives dx [rows,
 * hidden], `d.head` and the norm's. The division by rows is done on [rows, hidden], where it is cheap and does not underflow in fp16.
 */
export function headBackward(emit: Emit): Value {
  const { graph, shape, sources, precision } = emit;
  const labels = graph.reshape(sources.indices('labels', shape.vocab), [-1, 1]);
  const logits = sources.rowsFromOne('logits', shape.vocab, precision);
  const p = graph.node('Exp', [graph.node('Sub', [logits, saved(emit, 'logSumExp', ['rows', 1], 'fp32')])]);
  const ofLabel = graph.node('Sub', [graph.node('GatherElements', [p, labels], { axis: 1 }), graph.scalar(1, precision)]);
  const dLogits = graph.node('ScatterElements', [p, labels, ofLabel], { axis: 1 });
  const share = graph.cast(lossShare(emit), 'fp32', precision);
  const perRow = (value: Value) => graph.node('Mul', [value, share]);
  accumulateProduct(emit, 'head', perRow(saved(emit, 'normed', ['rows', shape.hidden])), dLogits, [shape.hidden, shape.vocab]);
  const dNormed = perRow(graph.node('Gemm', [dLogits, weight(emit, 'head', [shape.hidden, shape.vocab])], { transB: 1 }));
  return normBackward(emit, shape.norm, saved(emit, 'x', ['rows', shape.hidden]), dNormed, 'finalNorm', shape.hidden);
}

/** fp32 [1]: one over the rows that the loss is the mean over, of the slice or of the whole step. */
function lossShare({ graph, sources, step }: Emit): Value {
  return graph.node('Reciprocal', [graph.cast(step?.lossTokens ?? sources.sizes.rows, 'int64', 'fp32')]);
}
