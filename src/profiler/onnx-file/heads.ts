import { integerAttribute, mostFrequent, shown, findWeight, type GraphView, type Node, type Port } from './graph-view';
import { cacheNumber } from './layers';
import type { Linear } from './linears';
import { rotaryCache, sized, type Read } from './tables';
import type { Projection, TracedGraph } from './trace';
import { sentence, type Sentence } from '../../core/sentence';

/** What the graph has of its heads; null for what it does not have. */
interface Heads {
  readonly heads: Read<number> | null;
  readonly kvHeads: Read<number> | null;
  readonly headDim: Read<number> | null;
  readonly doubts: readonly Sentence[];
}

/** Heads, key/value heads and head size, from attributes, caches, reshapes and the widths of the projections, in this order. */
export function readHeads(graph: TracedGraph): Heads {
  const { view, attentions, attentionOutputs } = graph;
  const queryWidth = mostFrequent(attentionOutputs.map(({ linear }) => linear.in));
  const output = attentionOutputs.find(({ linear }) => linear.in === queryWidth);
  const attributes = readHeadAttributes([...attentions]);
  const cache = readCacheShape(view);
  const split = queryWidth === null ? null : headsByReshapes(graph, queryWidth);
  const rotated = readAttribute(
    view.nodes.filter(({ operator }) => operator === 'RotaryEmbedding'),
    ['num_heads'],
  );
  const given = attributes.heads ?? (cache === null ? split : null);
  const headDim = cache?.headDim ?? over(queryWidth, given, output) ?? headSizeClue(graph) ?? null;
  const heads = attributes.heads ?? over(queryWidth, headDim, output) ?? split ?? (rotated?.value === 0 ? null : rotated);
  const widths = widthOfKeys(output, queryWidth);
  const keyHeads = widths === null || headDim === null ? null : keyHeadsByWidth(widths, headDim.value);
  const kvHeads = attributes.kvHeads ?? cache?.kvHeads ?? keyHeads;
  const doubts =
    keyHeads !== null && kvHeads !== null && keyHeads.value !== kvHeads.value
      ? [sentence`${kvHeads.value} key/value heads are taken, since ${kvHeads.reason}, but ${keyHeads.reason}`]
      : [];
  return { heads, kvHeads, headDim, doubts };
}

function readHeadAttributes(attentions: readonly Node[]): { readonly heads: Read<number> | null; readonly kvHeads: Read<number> | null } {
  return { heads: readAttribute(attentions, ['num_heads', 'q_num_heads']), kvHeads: readAttribute(attentions, ['kv_num_heads']) };
}

function readAttribute(nodes: readonly Node[], names: readonly string[]): Read<number> | null {
  for (const name of names) {
    const value = mostFrequent(nodes.flatMap((node) => integerAttribute(node, name) ?? []));
    if (value !== null && value > 0) return { value, reason: sentence`${name} is ${value} in the ${nodes[0]?.operator ?? ''} nodes` };
  }
  return null;
}

/**
 * Of [batch, key/value heads, earlier tokens, head size], or with tokens before heads; also of GPT-2's old [2, ...]. Inputs first, then
 * outputs.
 */
function readCacheShape(view: GraphView): { readonly kvHeads: Read<number>; readonly headDim: Read<number> } | null {
  const present = view.outputs.filter(({ name }) => /present|past|cache/i.test(name) && !/value/i.test(name));
  for (const port of [...view.inputs.filter(({ name }) => cacheNumber(name) !== null), ...present]) {
    const [headDim, second, third] = [port.dims.at(-1), port.dims.at(-2), port.dims.at(-3)];
    const kvHeads = third ?? second;
    if (port.dims.length < 4 || headDim === undefined || headDim === null || kvHeads === undefined || kvHeads === null) continue;
    const reason = sentence`${shown(port.name)} is ${portShapeText(port)}`;
    return { kvHeads: { value: kvHeads, reason }, headDim: { value: headDim, reason } };
  }
  return null;
}

function portShapeText({ dims }: Port): string {
  return dims.map((dim) => dim ?? '?').join(' x ');
}

function over(width: number | null, divisor: Read<number> | null, output: Projection | undefined): Read<number> | null {
  if (width === null || divisor === null || width % divisor.value !== 0) return null;
  const name = output === undefined ? sentence`the projection of attention` : shown(output.linear.name);
  return { value: width / divisor.value, reason: sentence`${name} takes ${width} values, and ${divisor.reason}` };
}

/** Heads by the reshapes that split queries: [batch, tokens, heads, head size], -1 for one of them. */
function headsByReshapes({ view, linears, attentionOutputs }: TracedGraph, queryWidth: number): Read<number> | null {
  const producers = new Map(linears.map((linear) => [linear.node, linear]));
  const nodes = new Set(attentionOutputs.flatMap((output) => output.nodes.filter(({ operator }) => operator === 'Reshape')));
  const found = [...nodes].flatMap((node) => headsBySplit(view, node, producers, queryWidth) ?? []);
  const value = mostFrequent(found.map((item) => item.value));
  return found.find((item) => item.value === value) ?? null;
}

/** Heads that a reshape splits queries into, or queries, keys and values together; null for any other reshape. */
function headsBySplit(view: GraphView, node: Node, producers: ReadonlyMap<Node, Linear>, queryWidth: number): Read<number> | null {
  const shape = integersBehind(view, node.inputs[1] ?? '');
  const width = projectedWidth(view, node.inputs[0] ?? '', producers);
  const [count, size] = [shape?.at(-2), shape?.at(-1)];
  if (shape === null || shape.length < 4 || typeof count !== 'number' || typeof size !== 'number') return null;
  if (width !== queryWidth && width !== 3 * queryWidth) return null;
  const heads = count > 0 ? count : width / size;
  if (heads < 1 || !Number.isInteger(heads) || (size > 0 ? heads * size !== width : width % heads !== 0)) return null;
  const name = node.name === '' ? sentence`A Reshape` : shown(node.name);
  return { value: heads, reason: sentence`${name} splits ${width} values into ${shape.map((extent) => extent ?? '?').join(' x ')}` };
}

/** Width of a value that comes from a projection, or from a part of one; null when it is anything else. */
function projectedWidth(view: GraphView, value: string, producers: ReadonlyMap<Node, Linear>, depth = 0): number | null {
  const node = view.producer(value);
  if (node === undefined || depth > 5) return null;
  const linear = producers.get(node);
  if (linear !== undefined) return linear.out;
  if (node.operator === 'Split') {
    const sizes = node.attributes.get('split')?.ints.map(Number) ?? integersBehind(view, node.inputs[1] ?? '');
    const whole = projectedWidth(view, node.inputs[0] ?? '', producers, depth + 1);
    return sizes?.[node.outputs.indexOf(value)] ?? (whole === null ? null : whole / node.outputs.length);
  }
  if (!['Add', 'Cast', 'Identity', 'Reshape', 'DequantizeLinear', 'Mul'].includes(node.operator)) return null;
  const input = node.inputs.find((name) => findWeight(view, name) === null);
  return input === undefined ? null : projectedWidth(view, input, producers, depth + 1);
}

/** A shape as far as it is constant: itself, or joined from pieces, some of them computed (null). */
function integersBehind(view: GraphView, value: string, depth = 0): readonly (number | null)[] | null {
  const constant = view.tensors.get(value)?.integers;
  if (constant !== undefined && constant !== null) return constant;
  const node = view.producer(value);
  if (node === undefined || depth > 4) return null;
  if (node.operator === 'Concat') return node.inputs.flatMap((input) => integersBehind(view, input, depth + 1) ?? [null]);
  if (['Unsqueeze', 'Cast', 'Identity', 'Reshape'].includes(node.operator)) return integersBehind(view, node.inputs[0] ?? '', depth + 1);
  return null;
}

/** Head size where only other parts show it: norms of single heads, or the table of rotations, which holds half of a head. */
function headSizeClue({ view, attentionOutputs, norms }: TracedGraph): Read<number> | null {
  const inside = new Set(attentionOutputs.flatMap(({ nodes }) => nodes));
  const norm = norms.find(({ node, width }) => width !== null && inside.has(node));
  if (norm?.width !== undefined && norm.width !== null)
    return { value: norm.width, reason: sentence`${shown(norm.gain ?? '')}, the norm of a head, is ${norm.width} wide` };
  const cache = rotaryCache(view);
  const half = cache?.dims.at(-1);
  const partial = view.nodes.some((node) => (integerAttribute(node, 'rotary_embedding_dim') ?? 0) > 0);
  return cache === null || half === undefined || partial ? null : { value: 2 * half, reason: sentence`${sized(cache)}, half of a head` };
}

/** Width of the keys by the projections before attention. */
function widthOfKeys(
  output: Projection | undefined,
  queryWidth: number | null,
): { readonly width: number; readonly from: Sentence } | null {
  if (output === undefined || queryWidth === null) return null;
  const widths = output.sources.map(({ out }) => out).sort((a, b) => a - b);
  const [only, other] = widths;
  const [name] = output.sources.map((source) => shown(source.name));
  if (only === undefined || name === undefined) return null;
  if (widths.length === 1) return only > queryWidth ? { width: (only - queryWidth) / 2, from: sentence`${name} is ${only} wide` } : null;
  if (widths.length === 2 && other !== undefined) {
    const both = widths.find((width) => width !== queryWidth) ?? only;
    return { width: both / 2, from: sentence`keys and values together are ${both} wide` };
  }
  return widths.length === 3 ? { width: only, from: sentence`the projection of keys is ${only} wide` } : null;
}

function keyHeadsByWidth({ width, from }: { readonly width: number; readonly from: Sentence }, headDim: number): Read<number> | null {
  return width % headDim === 0 ? { value: width / headDim, reason: sentence`${from} and a head ${headDim}` } : null;
}
