import { create, toBinary } from '@bufbuild/protobuf';
import {
  AttributeProto_AttributeType as AttributeType,
  AttributeProtoSchema,
  type AttributeProto,
  GraphProtoSchema,
  type GraphProto,
  ModelProtoSchema,
  NodeProtoSchema,
  type NodeProto,
  OperatorSetIdProtoSchema,
  TensorProto_DataType as DataType,
  TensorProtoSchema,
  TensorShapeProto_DimensionSchema,
  TensorShapeProtoSchema,
  TypeProto_TensorSchema,
  TypeProtoSchema,
  ValueInfoProtoSchema,
  type ValueInfoProto,
} from 'onnx-buf';
import type { Precision } from '../../core/domain/cluster';

/** Name of a tensor in a graph. */
export type Value = string;

export type ElementType = Precision | 'int64' | 'int32' | 'bool';

/** An integer or list of integers, a string, or a float marked as one. */
type Attribute = number | string | readonly number[] | { readonly float: number };

/** An extent of a tensor: fixed, or the name of one known only at run time. */
type Extent = number | string;

/** An input as it was asked for. */
export interface GraphInput {
  readonly name: string;
  readonly type: ElementType;
  readonly extents: readonly Extent[];
}

/**
 * An ONNX graph in the making. Tensors are named by the graph. Operators of ONNX Runtime's own domain are written
 * `com.microsoft:MultiHeadAttention`; an empty input name leaves an optional input out.
 */
export interface Graph {
  node(operator: string, inputs: readonly Value[], attributes?: Readonly<Record<string, Attribute>>): Value;
  /** A node of several outputs; `outputs` only labels them, an empty label leaves one out. */
  nodes<const T extends readonly string[]>(
    operator: string,
    outputs: T,
    inputs: readonly Value[],
    attributes?: Readonly<Record<string, Attribute>>,
  ): { [K in keyof T]: Value };
  /** One-dimensional, stored in the model; equal ones are stored once. */
  integers(values: readonly number[]): Value;
  /** A scalar of `type`. */
  scalar(value: number, type: Precision | 'int64' | 'int32'): Value;
  /** A vector stored in the model as fp32. */
  floats(values: Float32Array): Value;
  cast(value: Value, from: ElementType, to: ElementType): Value;
  reshape(value: Value, extents: readonly (number | Value)[]): Value;
  input(name: string, type: ElementType, extents: readonly Extent[]): Value;
  /** Last of all: a value has its new name from then on. */
  output(name: string, value: Value, type: ElementType): void;
  /** The inputs; once serialized, those that are left. */
  inputs(): readonly GraphInput[];
  /**
   * Serialized model, without the nodes that no output needs, nor other inputs than `batch`, `tokens` and `context`. `opset` of ai.onnx; 21
   * unless an operator needs a later one.
   */
  bytes(opset: 21 | 23): Uint8Array;
}

const dataTypes: Readonly<Record<ElementType, DataType>> = {
  fp32: DataType.FLOAT,
  fp16: DataType.FLOAT16,
  bf16: DataType.BFLOAT16,
  int64: DataType.INT64,
  int32: DataType.INT32,
  bool: DataType.BOOL,
};

export function createGraph(): Graph {
  const graph = create(GraphProtoSchema, { name: 'slice' });
  const known = new Map<string, Value>();
  const declared: GraphInput[] = [];
  const outputNames = new Map<Value, string>();
  const fresh = (hint: string) => `${hint}.${graph.node.length + graph.initializer.length}`;
  const once = (key: string, make: () => Value) => {
    const value = known.get(key) ?? make();
    known.set(key, value);
    return value;
  };

  const nodes: Graph['nodes'] = (operator, outputs, inputs, attributes = {}) => {
    const [domain, opType] = operator.includes(':') ? (operator.split(':') as [string, string]) : ['', operator];
    const names = outputs.map((label) => (label === '' ? '' : fresh(`${opType}.${label}`)));
    const attribute = Object.entries(attributes).map(([name, value]) => toAttribute(name, value));
    graph.node.push(create(NodeProtoSchema, { name: fresh(opType), domain, opType, input: [...inputs], output: names, attribute }));
    return names as { [K in keyof typeof outputs]: Value };
  };
  const node: Graph['node'] = (operator, inputs, attributes) => nodes(operator, ['out'], inputs, attributes)[0];
  const cast: Graph['cast'] = (value, from, to) => (from === to ? value : node('Cast', [value], { to: dataTypes[to] }));

  const initializer = (type: ElementType, dims: readonly number[], rawData: Uint8Array<ArrayBuffer>) => {
    const name = fresh('constant');
    graph.initializer.push(create(TensorProtoSchema, { name, dataType: dataTypes[type], dims: dims.map(BigInt), rawData }));
    return name;
  };
  const integers: Graph['integers'] = (values) =>
    once(`integers ${values.join()}`, () => initializer('int64', [values.length], toBytes(BigInt64Array.from(values, BigInt))));
  const scalar: Graph['scalar'] = (value, type) =>
    once(`scalar ${value} ${type}`, () => {
      if (type === 'int64') return initializer(type, [], toBytes(BigInt64Array.of(BigInt(value))));
      if (type === 'int32') return initializer(type, [], toBytes(Int32Array.of(value)));
      // ONNX Runtime folds the cast when it creates the session.
      return cast(initializer('fp32', [], toBytes(Float32Array.of(value))), 'fp32', type);
    });
  const shapeTensor = (extents: readonly (number | Value)[]) =>
    once(`shape ${extents.join()}`, () =>
      extents.every((extent) => typeof extent === 'number')
        ? integers(extents)
        : node(
            'Concat',
            extents.map((extent) => (typeof extent === 'number' ? integers([extent]) : extent)),
            { axis: 0 },
          ),
    );

  return {
    node,
    nodes,
    integers,
    scalar,
    cast,
    floats: (values) => initializer('fp32', [values.length], toBytes(values)),
    reshape: (value, extents) => node('Reshape', [value, shapeTensor(extents)]),
    input(name, type, extents) {
      graph.input.push(valueInfo(name, type, extents));
      declared.push({ name, type, extents });
      return name;
    },
    output(name, value, type) {
      const current = outputNames.get(value) ?? value;
      if (renamed(graph, current, name)) outputNames.set(value, name);
      else graph.node.push(create(NodeProtoSchema, { name: `output.${name}`, opType: 'Identity', input: [current], output: [name] }));
      graph.output.push(valueInfo(name, type, null));
    },
    inputs: () => declared.filter(({ name }) => graph.input.some((input) => input.name === name)),
    bytes(opset) {
      prune(graph);
      return encode(graph, opset);
    },
  };
}

/**
 * Gives a value that a node makes the name of an output: an Identity of what other nodes read too stays in the graph, and CUDA has none at
 * opset 21 (ONNX Runtime 1.30.0), so that the result would be copied to the host in every run.
 * @returns false for an input or constant, and for what is an output already.
 */
function renamed(graph: GraphProto, value: Value, name: string): boolean {
  const maker = graph.node.find(({ output }) => output.includes(value));
  if (maker === undefined || graph.output.some((output) => output.name === value)) return false;
  const rename = (names: readonly string[]): string[] => names.map((one) => (one === value ? name : one));
  maker.output = rename(maker.output);
  for (const node of graph.node) node.input = rename(node.input);
  return true;
}

/** Sizes of the slice, which every model takes. */
const sizeInputs: readonly string[] = ['batch', 'tokens', 'context'];

/** Drops what no output needs. */
function prune(graph: GraphProto): void {
  const needed = new Set(graph.output.map(({ name }) => name));
  const kept: NodeProto[] = [];
  for (const node of graph.node.toReversed()) {
    if (!node.output.some((name) => needed.has(name))) continue;
    kept.push(node);
    for (const name of node.input) needed.add(name);
  }
  graph.node = kept.reverse();
  graph.initializer = graph.initializer.filter(({ name }) => needed.has(name));
  graph.input = graph.input.filter(({ name }) => needed.has(name) || sizeInputs.includes(name));
}

function encode(graph: GraphProto, opset: 21 | 23): Uint8Array {
  const opsetImport = [
    create(OperatorSetIdProtoSchema, { domain: '', version: BigInt(opset) }),
    create(OperatorSetIdProtoSchema, { domain: 'com.microsoft', version: 1n }),
  ];
  return toBinary(
    ModelProtoSchema,
    create(ModelProtoSchema, { irVersion: opset === 21 ? 10n : 11n, producerName: 'terapipe', graph, opsetImport }),
  );
}

function toBytes(values: Float32Array | BigInt64Array | Int32Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(values.slice().buffer);
}

function toAttribute(name: string, value: Attribute): AttributeProto {
  if (typeof value === 'number') return create(AttributeProtoSchema, { name, type: AttributeType.INT, i: BigInt(value) });
  if (typeof value === 'string')
    return create(AttributeProtoSchema, { name, type: AttributeType.STRING, s: new TextEncoder().encode(value) });
  if ('float' in value) return create(AttributeProtoSchema, { name, type: AttributeType.FLOAT, f: value.float });
  return create(AttributeProtoSchema, { name, type: AttributeType.INTS, ints: value.map(BigInt) });
}

function valueInfo(name: string, type: ElementType, extents: readonly Extent[] | null): ValueInfoProto {
  const dim = (extents ?? []).map((extent) =>
    create(TensorShapeProto_DimensionSchema, {
      value: typeof extent === 'number' ? { case: 'dimValue', value: BigInt(extent) } : { case: 'dimParam', value: extent },
    }),
  );
  const tensor = create(TypeProto_TensorSchema, {
    elemType: dataTypes[type],
    ...(extents === null ? {} : { shape: create(TensorShapeProtoSchema, { dim }) }),
  });
  return create(ValueInfoProtoSchema, { name, type: create(TypeProtoSchema, { value: { case: 'tensorType', value: tensor } }) });
}
