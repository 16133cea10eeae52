import { findWeight, type GraphView, type Node } from './graph-view';
import { own } from '../../core/records';

/** A normalization: one operator, or the operators that compute it. */
export interface Norm {
  readonly node: Node;
  readonly kind: 'layernorm' | 'rmsnorm';
  /** Width of its gain; null when it has none. */
  readonly width: number | null;
  /** Its gain, to name it. */
  readonly gain: string | null;
}

/** Norm operators, with the number of the input that holds the gain. */
const operators: Readonly<Record<string, { readonly kind: Norm['kind']; readonly gain: number }>> = {
  LayerNormalization: { kind: 'layernorm', gain: 1 },
  SkipLayerNormalization: { kind: 'layernorm', gain: 2 },
  EmbedLayerNormalization: { kind: 'layernorm', gain: 5 },
  SimplifiedLayerNormalization: { kind: 'rmsnorm', gain: 1 },
  RMSNormalization: { kind: 'rmsnorm', gain: 1 },
  SkipSimplifiedLayerNormalization: { kind: 'rmsnorm', gain: 2 },
};

/** Every norm of a graph: by operator, and by the pattern that exports of early opsets have (mean, square, mean, square root, division). */
export function findNorms(view: GraphView): readonly Norm[] {
  return view.nodes.flatMap((node) => {
    const operator = own(operators, node.operator);
    if (operator === undefined) return normByPattern(view, node) ?? [];
    const gain = findWeight(view, node.inputs[operator.gain] ?? '')?.tensor;
    return [{ node, kind: operator.kind, width: gain?.dims.length === 1 ? (gain.dims[0] ?? null) : null, gain: gain?.name ?? null }];
  });
}

/** Sqrt(ReduceMean(square(x)) + epsilon), of x less its mean for a LayerNorm. */
function normByPattern(view: GraphView, node: Node): Norm | null {
  if (node.operator !== 'Sqrt') return null;
  const mean = meanBefore(view, node);
  const square = view.producer(mean?.inputs[0] ?? '');
  if (mean === null || (square?.operator !== 'Pow' && square?.operator !== 'Mul')) return null;
  let squared = view.producer(square.inputs[0] ?? '');
  if (squared?.operator === 'Cast') squared = view.producer(squared.inputs[0] ?? '');
  const gain = gainAfter(view, node);
  return { node, kind: squared?.operator === 'Sub' ? 'layernorm' : 'rmsnorm', width: gain?.width ?? null, gain: gain?.name ?? null };
}

function meanBefore(view: GraphView, root: Node): Node | null {
  const [sum] = root.inputs;
  const add = view.producer(sum ?? '');
  const candidates = add?.operator === 'ReduceMean' ? [add] : (add?.inputs ?? []).map((value) => view.producer(value));
  return candidates.find((node) => node?.operator === 'ReduceMean') ?? null;
}

/** Between the square root and the product with the gain. */
const between = new Set(['Div', 'Reciprocal', 'Mul', 'Cast']);

function gainAfter(view: GraphView, root: Node): { readonly width: number; readonly name: string } | null {
  let current = root;
  for (let step = 0; step < 5; step += 1) {
    const users = view.consumers(current.outputs[0] ?? '').filter((user) => between.has(user.operator));
    for (const user of users.filter(({ operator }) => operator === 'Mul'))
      for (const value of user.inputs) {
        const tensor = findWeight(view, value)?.tensor;
        const [width] = tensor?.dims ?? [];
        if (tensor?.dims.length === 1 && width !== undefined && width > 1) return { width, name: tensor.name };
      }
    const [next] = users;
    if (next === undefined) return null;
    current = next;
  }
  return null;
}
