import { createGraph } from './onnx';
import { fetchedOutput } from './slice-graph';

/** Rows and columns of what the nodes take: so few that a GPU takes no time for them. */
export const chainWidth = 16;

/** A model of `nodes` additions or products, one after the other, of [tokens, 16] numbers: it takes what launching its nodes takes. */
export function launchChain(operator: 'Add' | 'MatMul', nodes: number): Uint8Array {
  const graph = createGraph();
  const [, tokens = ''] = ['batch', 'tokens', 'context'].map((name) => graph.input(name, 'int64', [1]));
  const rows = graph.node('Shape', [graph.node('ConstantOfShape', [tokens])]);
  const extents = graph.node('Concat', [rows, graph.integers([chainWidth])], { axis: 0 });
  const first = graph.node('Expand', [graph.scalar(1 / chainWidth, 'fp32'), extents]);
  let last = first;
  for (let node = 0; node < nodes; node++) last = graph.node(operator, [last, first]);
  graph.output(fetchedOutput, graph.node('ReduceSum', [last, graph.integers([0, 1])], { keepdims: 0 }), 'fp32');
  return graph.bytes(21);
}
