import {
  TensorProto_DataType as DataType,
  type AttributeProto,
  type GraphProto,
  type ModelProto,
  type NodeProto,
  type TensorProto,
  type ValueInfoProto,
} from 'onnx-buf';
import { printable } from '../../core/text';

/** A constant of the graph: an initializer, or what a Constant node holds. */
export interface Tensor {
  readonly name: string;
  readonly dims: readonly number[];
  /** As `TensorProto.DataType` numbers them. */
  readonly dataType: number;
  /** Its values, when it is a short integer constant whose values are in the file. */
  readonly integers: readonly number[] | null;
}

export interface Node {
  /** `MatMul`, `com.microsoft:Attention`; only where both domains have the operator does the domain matter. */
  readonly operator: string;
  readonly domain: string;
  readonly name: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Which graph it is in: 0 is the main one, others are branches and loop bodies. */
  readonly graph: number;
  readonly attributes: ReadonlyMap<string, AttributeProto>;
}

/** An input or output of the model; null for a dimension known only at run time. */
export interface Port {
  readonly name: string;
  readonly dims: readonly (number | null)[];
}

/** A graph with its branches flattened into it, indexed by the names of values. */
export interface GraphView {
  readonly nodes: readonly Node[];
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  readonly tensors: ReadonlyMap<string, Tensor>;
  readonly producer: (value: string) => Node | undefined;
  readonly consumers: (value: string) => readonly Node[];
}

/** @throws nothing: what is odd about a graph just is not found in the view. */
export function createGraphView({ graph }: ModelProto): GraphView {
  const nodes: Node[] = [];
  const tensors = new Map<string, Tensor>();
  let graphs = 0;
  const visit = (proto: GraphProto): void => {
    const here = graphs;
    graphs += 1;
    for (const tensor of proto.initializer) tensors.set(tensor.name, toTensor(tensor, tensor.name));
    for (const { values, dims } of proto.sparseInitializer)
      if (values !== undefined) tensors.set(values.name, { ...toTensor(values, values.name), dims: dims.map(Number), integers: null });
    for (const node of proto.node) {
      const seen = toNode(node, here);
      nodes.push(seen);
      const constant = constantTensor(seen);
      if (constant !== null) tensors.set(constant.name, constant);
      for (const attribute of node.attribute) for (const inner of [attribute.g, ...attribute.graphs]) if (inner !== undefined) visit(inner);
    }
  };
  if (graph !== undefined) visit(graph);
  const { producers, consumers } = indexEdges(nodes);
  return {
    nodes,
    // Before IR 4, initializers were listed among the inputs.
    inputs: (graph?.input ?? []).map(toPort).filter(({ name }) => !tensors.has(name)),
    outputs: (graph?.output ?? []).map(toPort),
    tensors,
    producer: (value) => producers.get(value),
    consumers: (value) => consumers.get(value) ?? [],
  };
}

function indexEdges(nodes: readonly Node[]) {
  const producers = new Map<string, Node>();
  const consumers = new Map<string, Node[]>();
  for (const node of nodes) {
    for (const value of node.outputs) if (value !== '' && !producers.has(value)) producers.set(value, node);
    for (const value of node.inputs) {
      const known = consumers.get(value);
      if (known === undefined) consumers.set(value, [node]);
      else known.push(node);
    }
  }
  return { producers, consumers };
}

function toNode(node: NodeProto, graph: number): Node {
  return {
    operator: node.opType,
    domain: node.domain,
    name: node.name,
    inputs: node.input,
    outputs: node.output,
    graph,
    attributes: new Map(node.attribute.map((attribute) => [attribute.name, attribute])),
  };
}

function constantTensor(node: Node): Tensor | null {
  const [name] = node.outputs;
  if (node.operator !== 'Constant' || name === undefined) return null;
  const tensor = node.attributes.get('value')?.t;
  if (tensor !== undefined) return toTensor(tensor, name);
  const single = node.attributes.get('value_int');
  if (single !== undefined) return { name, dims: [], dataType: DataType.INT64, integers: [Number(single.i)] };
  const list = node.attributes.get('value_ints');
  if (list !== undefined) return { name, dims: [list.ints.length], dataType: DataType.INT64, integers: list.ints.map(Number) };
  return null;
}

function toTensor(tensor: TensorProto, name: string): Tensor {
  return { name, dims: tensor.dims.map(Number), dataType: tensor.dataType, integers: readIntegers(tensor) };
}

const integerBytes: ReadonlyMap<number, number> = new Map([
  [DataType.INT64, 8],
  [DataType.INT32, 4],
]);

function readIntegers({ dataType, dims, int32Data, int64Data, rawData }: TensorProto): readonly number[] | null {
  const bytes = integerBytes.get(dataType);
  if (bytes === undefined) return null;
  const count = dims.reduce((product, dim) => product * Number(dim), 1);
  const view = new DataView(rawData.buffer, rawData.byteOffset, rawData.byteLength);
  const raw = Array.from({ length: Math.floor(rawData.byteLength / bytes) }, (_, index) =>
    bytes === 8 ? Number(view.getBigInt64(8 * index, true)) : view.getInt32(4 * index, true),
  );
  const values = [int64Data.map(Number), [...int32Data], raw].find(({ length }) => length > 0) ?? [];
  return values.length === count ? values : null;
}

function toPort({ name, type }: ValueInfoProto): Port {
  const shape = type?.value.case === 'tensorType' ? type.value.value.shape : undefined;
  return {
    name,
    dims: (shape?.dim ?? []).map(({ value }) => (value.case === 'dimValue' && value.value > 0n ? Number(value.value) : null)),
  };
}

/** A constant that a value stands for, perhaps transposed, cast or dequantized on the way. */
interface Weight {
  readonly tensor: Tensor;
  readonly transposed: boolean;
  /** Stored in fewer bits than it is used in. */
  readonly dequantized: boolean;
}

/** Operators between a stored weight and its use. */
const passedOver = new Set(['Identity', 'Cast', 'Transpose', 'DequantizeLinear', 'Dropout']);
const longestChain = 8;

/** The constant behind a value; null when it is computed. */
export function findWeight(view: GraphView, value: string): Weight | null {
  let [name, transposed, dequantized] = [value, false, false];
  for (let step = 0; step < longestChain; step += 1) {
    const node = view.producer(name);
    const tensor = view.tensors.get(name);
    if (tensor !== undefined) return { tensor, transposed, dequantized };
    const [input] = node?.inputs ?? [];
    if (node === undefined || input === undefined || !passedOver.has(node.operator)) return null;
    if (node.operator === 'Transpose') transposed = !transposed;
    if (node.operator === 'DequantizeLinear') dequantized = true;
    name = input;
  }
  return null;
}

/** An integer attribute. */
export function integerAttribute(node: Node, name: string): number | null {
  const attribute = node.attributes.get(name);
  return attribute === undefined ? null : Number(attribute.i);
}

/** A name out of the file, fit for a sentence. */
export function shown(name: string): string {
  return printable(name.length > 60 ? `${name.slice(0, 60)}…` : name);
}

/** The value that occurs most often, the larger one among equals; null of nothing. */
export function mostFrequent(values: readonly number[]): number | null {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const [best] = [...counts].sort(([a, countA], [b, countB]) => countB - countA || b - a);
  return best?.[0] ?? null;
}
