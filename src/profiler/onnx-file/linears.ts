import { TensorProto_DataType as DataType } from 'onnx-buf';
import { integerAttribute, findWeight, type GraphView, type Node, type Tensor } from './graph-view';
import { own } from '../../core/records';

/** A GEMM with a weight of the model. */
export interface Linear {
  /** What to call it: its weight. */
  readonly name: string;
  readonly node: Node;
  /** The value that is multiplied. */
  readonly input: string;
  readonly in: number;
  readonly out: number;
  readonly bias: boolean;
  /** Its stored weight; null where the file has it packed by an operator of its own. */
  readonly weight: Tensor | null;
  /** Stored in fewer bits than it is computed in: 4 or 8; null for plain floats. */
  readonly quantizedBits: number | null;
  /** What it is computed in, as `TensorProto.DataType` numbers types; 0 where the graph does not have it. */
  readonly computedIn: number;
}

/** Every GEMM with a weight, by any of the operators exporters and optimizers write. */
export function findLinears(view: GraphView): readonly Linear[] {
  return view.nodes.flatMap((node) => toLinear(view, node) ?? []);
}

/** Where each operator has its weight and its bias (both as input numbers). */
const layouts: Readonly<Record<string, { readonly weight: number; readonly bias: number | null }>> = {
  MatMul: { weight: 1, bias: null },
  FusedMatMul: { weight: 1, bias: null },
  MatMulInteger: { weight: 1, bias: null },
  Gemm: { weight: 1, bias: 2 },
  FusedGemm: { weight: 1, bias: 2 },
  GemmFastGelu: { weight: 1, bias: 2 },
  DynamicQuantizeMatMul: { weight: 1, bias: 4 },
  MatMulIntegerToFloat: { weight: 1, bias: 6 },
  QLinearMatMul: { weight: 3, bias: null },
  QGemm: { weight: 3, bias: 6 },
  // ONNX Runtime's packed attention projects its input itself.
  Attention: { weight: 1, bias: 2 },
  QAttention: { weight: 1, bias: 2 },
};

function toLinear(view: GraphView, node: Node): Linear | null {
  const [input] = node.inputs;
  if (input === undefined) return null;
  if (node.operator === 'MatMulNBits' || node.operator === 'MatMulBnb4') return packedLinear(view, node, input);
  const layout = own(layouts, node.operator);
  if (layout === undefined || (node.operator === 'Attention' && node.domain !== 'com.microsoft')) return null;
  const found = findWeight(view, node.inputs[layout.weight] ?? '');
  const [rows, columns, more] = found?.tensor.dims ?? [];
  if (found === null || rows === undefined || columns === undefined || more !== undefined) return null;
  const turned = found.transposed !== (integerAttribute(node, 'transB') === 1);
  const out = turned ? rows : columns;
  const { dataType } = found.tensor;
  const quantized = floatTypes.has(dataType) ? null : fourBitTypes.has(dataType) ? 4 : 8;
  return {
    name: found.tensor.name,
    node,
    input,
    in: turned ? columns : rows,
    out,
    weight: found.tensor,
    bias: (layout.bias !== null && (node.inputs[layout.bias] ?? '') !== '') || addsBias(view, node, out),
    quantizedBits: quantized,
    computedIn: quantized === null ? dataType : DataType.UNDEFINED,
  };
}

/** Weights in blocks of few bits with scales: the sizes are attributes. */
function packedLinear(view: GraphView, node: Node, input: string): Linear | null {
  const [rows, columns] = [integerAttribute(node, 'K'), integerAttribute(node, 'N')];
  if (rows === null || columns === null) return null;
  const scales = view.tensors.get(node.inputs[2] ?? '');
  return {
    name: node.inputs[1] ?? node.name,
    node,
    input,
    in: rows,
    out: columns,
    weight: null,
    bias: (node.operator === 'MatMulNBits' && (node.inputs[5] ?? '') !== '') || addsBias(view, node, columns),
    quantizedBits: node.operator === 'MatMulBnb4' ? 4 : (integerAttribute(node, 'bits') ?? 4),
    computedIn: scales?.dataType ?? DataType.UNDEFINED,
  };
}

const floatTypes: ReadonlySet<number> = new Set([DataType.FLOAT, DataType.FLOAT16, DataType.BFLOAT16, DataType.DOUBLE]);

const fourBitTypes: ReadonlySet<number> = new Set([DataType.INT4, DataType.UINT4, DataType.FLOAT4E2M1]);

/** Between a product and the Add of its bias. */
const beforeBias = new Set(['Cast', 'Reshape', 'Mul', 'Identity', 'DequantizeLinear']);
const adders = new Set([
  'Add',
  'BiasGelu',
  'FastGelu',
  'BiasAdd',
  'BiasSplitGelu',
  'SkipLayerNormalization',
  'SkipSimplifiedLayerNormalization',
]);

/** Whether a vector of the product's width is added to it, by an Add or by what optimizers make of one. */
function addsBias(view: GraphView, node: Node, width: number): boolean {
  let current = node;
  for (let step = 0; step < 3; step += 1) {
    const [output] = current.outputs;
    const users = output === undefined ? [] : view.consumers(output);
    if (
      users.some((user) => (user.operator === 'MultiHeadAttention' ? hasVector(view, [user.inputs[3] ?? '']) : isBiased(view, user, width)))
    )
      return true;
    const [next] = users;
    if (users.length !== 1 || next === undefined || !beforeBias.has(next.operator)) return false;
    current = next;
  }
  return false;
}

function isBiased(view: GraphView, user: Node, width: number): boolean {
  if (!adders.has(user.operator)) return false;
  // Of a skip norm, the fifth input is the bias; gain and shift have the same width.
  const candidates = user.operator.startsWith('Skip')
    ? [user.inputs[user.operator === 'SkipLayerNormalization' ? 4 : 3] ?? '']
    : user.inputs;
  return hasVector(view, candidates, width);
}

function hasVector(view: GraphView, values: readonly string[], width?: number): boolean {
  return values.some((value) => {
    const dims = findWeight(view, value)?.tensor.dims;
    return dims?.length === 1 && (width === undefined || dims[0] === width);
  });
}
