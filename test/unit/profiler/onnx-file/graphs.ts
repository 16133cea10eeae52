import { create, toBinary } from '@bufbuild/protobuf';
import {
  AttributeProto_AttributeType as AttributeType,
  AttributeProtoSchema,
  type AttributeProto,
  GraphProtoSchema,
  type GraphProto,
  ModelProtoSchema,
  type ModelProto,
  NodeProtoSchema,
  StringStringEntryProtoSchema,
  TensorProto_DataLocation as DataLocation,
  TensorProto_DataType as DataType,
  TensorProtoSchema,
  TensorShapeProto_DimensionSchema,
  TensorShapeProtoSchema,
  TypeProto_TensorSchema,
  TypeProtoSchema,
  ValueInfoProtoSchema,
} from 'onnx-buf';

export type Extent = number | string;

/** Writes graphs the way exporters do. Names of nodes and weights are given where an exporter would keep them. */
export function graphWriter(options: { readonly nodeNames?: boolean; readonly external?: boolean } = {}) {
  const graph = create(GraphProtoSchema, { name: 'main' });
  let fresh = 0;
  const next = (hint: string): string => `${hint}_${(fresh += 1)}`;
  const writer = {
    graph,
    weight(name: string, dims: readonly number[], dataType: DataType = DataType.FLOAT): string {
      if (graph.initializer.some((tensor) => tensor.name === name)) return name;
      const elements = dims.reduce((product, dim) => product * dim, 1);
      const where =
        options.external === true
          ? {
              dataLocation: DataLocation.EXTERNAL,
              externalData: [create(StringStringEntryProtoSchema, { key: 'location', value: 'model.onnx.data' })],
            }
          : { rawData: new Uint8Array(elements * (dataType === DataType.FLOAT ? 4 : dataType === DataType.UINT8 ? 1 : 2)).fill(7) };
      graph.initializer.push(create(TensorProtoSchema, { name, dims: dims.map(BigInt), dataType, ...where }));
      return name;
    },
    /** A weight whose name the exporter lost. */
    anonymous: (dims: readonly number[], dataType?: DataType): string => writer.weight(next('onnx::MatMul'), dims, dataType),
    integers(values: readonly number[]): string {
      const name = next('onnx::Concat');
      const rawData = new Uint8Array(BigInt64Array.from(values, BigInt).buffer);
      graph.initializer.push(create(TensorProtoSchema, { name, dims: [BigInt(values.length)], dataType: DataType.INT64, rawData }));
      return name;
    },
    /** Integers in a Constant node, as torch writes them. */
    constant(values: readonly number[]): string {
      const t = create(TensorProtoSchema, { dims: [BigInt(values.length)], dataType: DataType.INT64, int64Data: values.map(BigInt) });
      return writer.node('Constant', [], { value: create(AttributeProtoSchema, { name: 'value', type: AttributeType.TENSOR, t }) });
    },
    node(
      operator: string,
      inputs: readonly string[],
      attributes: Readonly<Record<string, number | readonly number[] | AttributeProto>> = {},
      name = '',
      outputs = 1,
    ): string {
      const [domain, opType] = operator.includes(':') ? (operator.split(':') as [string, string]) : ['', operator];
      const output = Array.from({ length: outputs }, () => next(`/${opType}_output`));
      const attribute = Object.entries(attributes).map(([key, value]) => attributeOf(key, value));
      const shown = options.nodeNames === false ? '' : name === '' ? next(`/${opType}`) : name;
      graph.node.push(create(NodeProtoSchema, { opType, domain, name: shown, input: [...inputs], output, attribute }));
      return output[0]!;
    },
    lastOutputs: (): readonly string[] => graph.node.at(-1)!.output,
    input(name: string, dims: readonly Extent[], dataType: DataType = DataType.FLOAT): string {
      graph.input.push(port(name, dims, dataType));
      return name;
    },
    output(value: string, name: string, dims: readonly Extent[]): void {
      graph.node.push(create(NodeProtoSchema, { opType: 'Identity', input: [value], output: [name] }));
      graph.output.push(port(name, dims, DataType.FLOAT));
    },
    model: (): ModelProto =>
      create(ModelProtoSchema, { irVersion: 8n, producerName: 'pytorch', graph, opsetImport: [{ domain: '', version: 17n }] }),
    bytes: (): Uint8Array => toBinary(ModelProtoSchema, writer.model()),
  };
  return writer;
}
export type GraphWriter = ReturnType<typeof graphWriter>;

/** The same graph in both branches of an If, as merged decoders have it; initializers stay outside. */
export function inBranches(graph: GraphProto): ModelProto {
  const branch = (name: string): AttributeProto =>
    create(AttributeProtoSchema, {
      name,
      type: AttributeType.GRAPH,
      g: create(GraphProtoSchema, { node: graph.node, output: graph.output }),
    });
  const node = create(NodeProtoSchema, {
    opType: 'If',
    input: ['use_cache_branch'],
    output: graph.output.map(({ name }) => name),
    attribute: [branch('then_branch'), branch('else_branch')],
  });
  const outer = create(GraphProtoSchema, { node: [node], initializer: graph.initializer, input: graph.input, output: graph.output });
  return create(ModelProtoSchema, { irVersion: 8n, producerName: 'pytorch', graph: outer });
}

function attributeOf(name: string, value: number | readonly number[] | AttributeProto): AttributeProto {
  if (typeof value === 'number')
    return Number.isInteger(value)
      ? create(AttributeProtoSchema, { name, type: AttributeType.INT, i: BigInt(value) })
      : create(AttributeProtoSchema, { name, type: AttributeType.FLOAT, f: value });
  if ('$typeName' in value) return value;
  return create(AttributeProtoSchema, { name, type: AttributeType.INTS, ints: value.map(BigInt) });
}

function port(name: string, dims: readonly Extent[], elemType: DataType) {
  const dim = dims.map((extent) =>
    create(TensorShapeProto_DimensionSchema, {
      value: typeof extent === 'number' ? { case: 'dimValue', value: BigInt(extent) } : { case: 'dimParam', value: extent },
    }),
  );
  const value = create(TypeProto_TensorSchema, { elemType, shape: create(TensorShapeProtoSchema, { dim }) });
  return create(ValueInfoProtoSchema, { name, type: create(TypeProtoSchema, { value: { case: 'tensorType', value } }) });
}

/** Renames values of a graph, wherever they are used. */
export function renamed(graph: GraphProto, names: Readonly<Record<string, string>>): GraphProto {
  const rename = (name: string): string => names[name] ?? name;
  for (const tensor of graph.initializer) tensor.name = rename(tensor.name);
  for (const value of graph.input) value.name = rename(value.name);
  for (const node of graph.node) node.input = node.input.map(rename);
  return graph;
}
