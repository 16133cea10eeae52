// What ONNX Runtime takes to launch a node: chains of nodes on 16 x 16 numbers, without optimizations. `launches.ts PROVIDER`.
import * as ort from 'onnxruntime-node';
import type { ProviderName } from '../../src/core/domain/profile';
import { createGraph, type Graph, type Value } from '../../src/profiler/graph/onnx';
import { sessionOptions } from '../../src/profiler/sessions';

const size = 16;
const [few, many] = [1, 401];
const runs = 60;
const links: Readonly<Record<string, (graph: Graph, value: Value, first: Value) => Value>> = {
  Neg: (graph, value) => graph.node('Neg', [value]),
  Add: (graph, value, first) => graph.node('Add', [value, first]),
  MatMul: (graph, value, first) => graph.node('MatMul', [value, first]),
};

/** Median time of a run of a chain, ms. */
async function chainMs(provider: ProviderName, operator: string, nodes: number): Promise<number> {
  const graph = createGraph();
  const rows = graph.node('Shape', [graph.node('ConstantOfShape', [graph.input('tokens', 'int64', [1])])]);
  const first = graph.node('Expand', [graph.scalar(1, 'fp32'), graph.node('Concat', [rows, graph.integers([size])], { axis: 0 })]);
  let value = first;
  for (let node = 0; node < nodes; node++) value = links[operator]!(graph, value, first);
  graph.output('sum', graph.node('ReduceSum', [value, graph.integers([0, 1])], { keepdims: 0 }), 'fp32');
  const options = { ...sessionOptions(provider, 1), graphOptimizationLevel: 'disabled' } as const;
  const session = await ort.InferenceSession.create(graph.bytes(21), options);
  const feeds = Object.fromEntries(['batch', 'tokens', 'context'].map((name) => [name, new ort.Tensor('int64', [BigInt(size)], [1])]));
  const own = Object.fromEntries(session.inputNames.map((name) => [name, feeds[name]!]));
  const times: number[] = [];
  for (let run = 0; run < runs; run++) {
    const from = performance.now();
    await session.run(own, ['sum']);
    times.push(performance.now() - from);
  }
  await session.release();
  return times.toSorted((a, b) => a - b)[runs / 2]!;
}

async function report(provider: ProviderName): Promise<void> {
  for (const operator of Object.keys(links)) {
    const perNode = (await chainMs(provider, operator, many)) - (await chainMs(provider, operator, few));
    console.log(`- A launch of ${operator}: ${((1e3 * perNode) / (many - few)).toFixed(1)} µs`);
  }
}
void report((process.argv[2] ?? 'cpu') as ProviderName);
