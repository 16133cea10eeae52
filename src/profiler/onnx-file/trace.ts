import { findWeight, type GraphView, type Node } from './graph-view';
import type { Linear } from './linears';
import { findNorms, type Norm } from './norms';
import { append } from '../../core/records';

/** Operators that are a whole attention. */
const attentionOperators = new Set([
  'Attention',
  'QAttention',
  'MultiHeadAttention',
  'GroupQueryAttention',
  'PagedAttention',
  'SparseAttention',
  'DecoderMaskedMultiHeadAttention',
  'DecoderMaskedSelfAttention',
  'PackedMultiHeadAttention',
  'PackedAttention',
  'LongformerAttention',
]);

/** A graph with what its projections were found to be. */
export interface TracedGraph {
  readonly view: GraphView;
  readonly linears: readonly Linear[];
  readonly norms: readonly Norm[];
  /** Whole attentions, or the softmaxes of attention that is written out. */
  readonly attentions: ReadonlySet<Node>;
  /** Projections of attention's result back to the residual stream, each with what feeds it. */
  readonly attentionOutputs: readonly Projection[];
  /** Second matrices of the feed-forward. */
  readonly downs: readonly Projection[];
}

/** A product and what it is computed from, up to the products before it. */
export interface Projection {
  readonly linear: Linear;
  readonly sources: readonly Linear[];
  /** Everything between. */
  readonly nodes: readonly Node[];
}

/** Projections looked at, the first ones: a few hundred show what all are. Not every n-th one, since they alternate. */
const mostTraced = 512;
/** Nodes between one product and those before it; masks and rotary positions come on top of the layer's own. */
const mostVisited = 2000;

/** Sorts products that end in the residual stream (`hidden` wide) by what lies before them: attention, or only other products. */
export function traceGraph(view: GraphView, linears: readonly Linear[], hidden: number): TracedGraph {
  const attentions = new Set(view.nodes.filter((node) => isAttention(view, node)));
  const producers = new Map(linears.map((linear) => [linear.node, linear]));
  const ending = linears.filter(({ out }) => out === hidden).slice(0, mostTraced);
  const traced = ending.map((linear) => trace(view, linear, producers, attentions));
  const attends = ({ nodes }: Projection): boolean => nodes.some((node) => attentions.has(node));
  return {
    view,
    linears,
    attentions,
    norms: findNorms(view),
    attentionOutputs: traced.filter(attends),
    downs: traced.filter(
      (projection) => !attends(projection) && projection.sources.length > 0 && projection.sources.every((source) => source.in === hidden),
    ),
  };
}

function trace(view: GraphView, linear: Linear, producers: ReadonlyMap<Node, Linear>, attentions: ReadonlySet<Node>): Projection {
  const nodes = new Set<Node>();
  const sources = new Set<Linear>();
  const waiting = [linear.input];
  while (nodes.size < mostVisited) {
    const value = waiting.pop();
    if (value === undefined) break;
    const node = view.producer(value);
    // A shape is not content: through it every mask would lead to the residual stream.
    if (node === undefined || nodes.has(node) || node.operator === 'Shape' || node.operator === 'Size') continue;
    const source = producers.get(node);
    if (source !== undefined) sources.add(source);
    if (source !== undefined && !attentions.has(node)) continue;
    nodes.add(node);
    if (source === undefined) append(waiting, node.inputs);
  }
  return { linear, sources: [...sources], nodes: [...nodes] };
}

function isAttention(view: GraphView, node: Node): boolean {
  if (attentionOperators.has(node.operator)) return true;
  return node.operator === 'Softmax' && weighsValues(view, node);
}

/** Between probabilities and their product with the values. */
const afterSoftmax = new Set(['Cast', 'Dropout', 'Identity', 'Where', 'Mul', 'QuantizeLinear', 'DequantizeLinear', 'Slice', 'Reshape']);

/** Whether a softmax's result is multiplied with something computed: a router's or a sampler's is not. */
function weighsValues(view: GraphView, softmax: Node): boolean {
  let current = softmax;
  for (let step = 0; step < 4; step += 1) {
    const users = view.consumers(current.outputs[0] ?? '');
    const values = current.outputs[0];
    if (users.some((user) => isProduct(user) && user.inputs.every((input) => input === values || findWeight(view, input) === null)))
      return true;
    const next = users.find((user) => afterSoftmax.has(user.operator));
    if (next === undefined) return false;
    current = next;
  }
  return false;
}

function isProduct({ operator }: Node): boolean {
  return operator === 'MatMul' || operator === 'FusedMatMul' || operator === 'Einsum';
}
