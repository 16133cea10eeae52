import { integerAttribute, mostFrequent, shown, findWeight, type GraphView, type Tensor } from './graph-view';
import type { Linear } from './linears';
import type { Norm } from './norms';
import { sentence, type Sentence } from '../../core/sentence';

/** A value with the part of the graph it was read from. */
export interface Read<T> {
  readonly value: T;
  readonly reason: Sentence;
}

/** Facts from the two ends of a model. */
export interface Ends {
  readonly hidden: Read<number>;
  /** Null when the model starts after the embedding. */
  readonly tokens: Tensor | null;
  readonly positions: Tensor | null;
  readonly rotary: Sentence | null;
  readonly head: Linear | null;
}

const tokenNames = /(^|[._/])(wte|embed_tokens|word_embeddings?|tok_embeddings?|token_embeddings?|embed_in|embeddings?)([._/]|$)/i;
const positionNames = /(^|[._/])(wpe|embed_positions|position_embeddings?|pos_emb\w*|positional_embeddings?)([._/]|$)/i;
const otherTables = /token_type|segment|rotary|cos|sin/i;

/** Embedding, positions and head; null when the width of the residual stream is unknown. */
export function findEnds(view: GraphView, linears: readonly Linear[], norms: readonly Norm[]): Ends | null {
  const tables = gatheredTables(view);
  const normWidth = mostFrequent(norms.flatMap(({ width }) => width ?? []));
  const named = tables.filter(({ name }) => !positionNames.test(name) && !otherTables.test(name));
  const fitting = named.filter(({ dims }) => normWidth === null || dims[1] === normWidth);
  const tokens = largest(fitting.filter(({ name }) => tokenNames.test(name))) ?? largest(fitting) ?? largest(named);
  const hidden = readHidden(view, tokens, norms, normWidth);
  if (hidden === null) return null;
  return {
    hidden,
    tokens,
    positions: positionTable(view, tables, tokens, hidden.value),
    rotary: rotaryEvidence(view),
    head: findHead(view, linears, tokens, hidden.value),
  };
}

function readHidden(view: GraphView, tokens: Tensor | null, norms: readonly Norm[], normWidth: number | null): Read<number> | null {
  const columns = tokens?.dims[1];
  if (tokens !== null && columns !== undefined && (normWidth === null || columns === normWidth))
    return { value: columns, reason: sized(tokens) };
  if (normWidth !== null) {
    const example = norms.find(({ width }) => width === normWidth)?.gain ?? '';
    return { value: normWidth, reason: sentence`most norms are ${normWidth} wide, as ${shown(example)}` };
  }
  const embedded = view.inputs.find(({ name }) => /embeds/i.test(name));
  const width = embedded?.dims.at(-1) ?? null;
  return embedded === undefined || width === null
    ? null
    : { value: width, reason: sentence`the input ${shown(embedded.name)} is ${width} wide` };
}

/** `wte.weight is 50257 x 768`. */
export function sized({ name, dims }: Tensor): Sentence {
  return sentence`${shown(name)} is ${dims.join(' x ')}`;
}

/** Two-dimensional constants that rows are taken from. */
function gatheredTables(view: GraphView): readonly Tensor[] {
  const found = view.nodes.flatMap((node): (Tensor | undefined)[] => {
    if (node.operator === 'EmbedLayerNormalization') return [2, 3].map((index) => findWeight(view, node.inputs[index] ?? '')?.tensor);
    if (node.operator !== 'Gather' && node.operator !== 'GatherBlockQuantized') return [];
    const tensor = findWeight(view, node.inputs[0] ?? '')?.tensor;
    if (tensor === undefined || node.operator === 'Gather') return [tensor];
    return [unpacked(view, tensor, node.inputs[2], integerAttribute(node, 'block_size'))];
  });
  return [...new Map(found.flatMap((tensor) => (tensor?.dims.length === 2 ? [[tensor.name, tensor] as const] : []))).values()];
}

/** A table of 4-bit rows as wide as its scales say. */
function unpacked(view: GraphView, table: Tensor, scales: string | undefined, blockSize: number | null): Tensor {
  const blocks = view.tensors.get(scales ?? '')?.dims[1];
  const rows = table.dims[0];
  return blocks === undefined || rows === undefined ? table : { ...table, dims: [rows, blocks * (blockSize ?? 128)] };
}

function largest(tables: readonly Tensor[]): Tensor | null {
  return tables.reduce<Tensor | null>((best, table) => (best === null || tensorRows(table) > tensorRows(best) ? table : best), null);
}

function tensorRows({ dims }: Tensor): number {
  return dims[0] ?? 0;
}

/** Learned positions: gathered, or sliced from a constant of that name. */
function positionTable(view: GraphView, tables: readonly Tensor[], tokens: Tensor | null, hidden: number): Tensor | null {
  const others = tables.filter((table) => table.name !== tokens?.name && table.dims[1] === hidden && !otherTables.test(table.name));
  const named = others.find(({ name }) => positionNames.test(name));
  const sliced = [...view.tensors.values()].find(
    ({ name, dims }) =>
      positionNames.test(name) && !otherTables.test(name) && dims.length >= 2 && dims.at(-1) === hidden && (dims.at(-2) ?? 0) > 1,
  );
  if (named !== undefined || sliced !== undefined)
    return named ?? (sliced === undefined ? null : { ...sliced, dims: sliced.dims.slice(-2) });
  // A graph whose names are gone: the smaller of two tables as wide as the model.
  return others.find((table) => tokens !== null && tensorRows(table) < tensorRows(tokens) && tensorRows(table) > 2) ?? null;
}

/** What shows that positions are rotary; null when nothing does. */
function rotaryEvidence(view: GraphView): Sentence | null {
  for (const node of view.nodes) {
    if (node.operator === 'RotaryEmbedding' || node.operator === 'GemmaRotaryEmbedding')
      return sentence`the graph has ${node.operator} nodes`;
    if (integerAttribute(node, 'do_rotary') === 1) return sentence`do_rotary is 1 in the ${node.operator} nodes`;
  }
  const cached = [...view.tensors.keys()].find((name) => /(^|[._/])(cos|sin)_?cache|inv_freq|(cos|sin)_cached/i.test(name));
  if (cached !== undefined) return sentence`the graph holds ${shown(cached)}`;
  const operators = new Set(view.nodes.map(({ operator }) => operator));
  return operators.has('Cos') && operators.has('Sin') ? sentence`the graph computes Cos and Sin of positions` : null;
}

/** Rows of the cosine cache, positions that the rotation is tabled for; null when it is computed. */
export function rotaryCache(view: GraphView): Tensor | null {
  const caches = [...view.tensors.values()].filter(({ name, dims }) => /(^|[._/])cos_?cache(d)?/i.test(name) && dims.length >= 2);
  return largest(caches.map((tensor) => ({ ...tensor, dims: tensor.dims.slice(-2) })));
}

/**
 * The product with the vocabulary: as wide as the token table has rows, else (one of the two may be padded) the widest that gives an output
 * of the model.
 */
function findHead(view: GraphView, linears: readonly Linear[], tokens: Tensor | null, hidden: number): Linear | null {
  const outputs = new Set(view.outputs.map(({ name }) => name));
  const last = linears.filter(
    ({ in: width, out, node, name }) =>
      width === hidden && out > hidden && (endsIn(view, node.outputs[0] ?? '', outputs) || /lm_head|embed_out/i.test(name)),
  );
  const rows = tokens?.dims[0];
  const asWide = linears.filter((linear) => linear.in === hidden && linear.out === rows);
  return last.find(({ out }) => out === rows) ?? asWide.at(-1) ?? last.at(-1) ?? null;
}

function endsIn(view: GraphView, value: string, outputs: ReadonlySet<string>): boolean {
  let current = value;
  for (let step = 0; step < 4; step += 1) {
    if (outputs.has(current)) return true;
    const [next] = view.consumers(current);
    if (next === undefined || !['Cast', 'Add', 'Identity', 'Mul', 'Reshape', 'DequantizeLinear'].includes(next.operator)) return false;
    current = next.outputs[0] ?? '';
  }
  return false;
}
