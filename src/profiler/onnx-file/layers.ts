import { shown, type GraphView } from './graph-view';
import type { Read } from './tables';
import type { TracedGraph } from './trace';
import { sentence, type Sentence, upperFirst } from '../../core/sentence';
import { maximum } from '../../core/numbers';

/** `transformer.h.11.`, `/model/layers.31/`: what comes before the number, and the number. */
const numbered = /^(.*?)(?:^|[./_])(h|layers?|blocks?|decoder_layers)[._/](\d{1,5})(?=[._/]|$)/i;
/** Some exporters number the last norm as if it were one more layer. */
const lastNorm = /final_?(layer_?)?norm/i;
/** Parts of other modalities have layers of their own. */
const otherParts = /vision|visual|audio|image/i;

interface Candidate extends Read<number> {
  readonly kind: 'caches' | 'names' | 'attentions';
}

/**
 * Number of layers, by what the graph shows of it: caches among its inputs, numbers in names, attention nodes. Equal initializers are
 * merged by exporters, so initializers by themselves are never counted; where the ways differ that is a doubt.
 */
export function countLayers({ view, attentions }: TracedGraph): { readonly layers: Read<number> | null; readonly doubt: Sentence | null } {
  const found: Candidate[] = [cachedLayers(view), namedLayers(view), attentionLayers(attentions)].flatMap((candidate) => candidate ?? []);
  const [caches, names, attending] = (['caches', 'names', 'attentions'] as const).map((kind) => found.find((item) => item.kind === kind));
  // One numbered name is what merging leaves of many equal layers.
  const trusted = names !== undefined && names.value > 1 ? names : undefined;
  const chosen = caches !== undefined && caches.value >= (trusted?.value ?? 0) ? caches : (trusted ?? attending ?? names);
  if (chosen === undefined) return { layers: null, doubt: null };
  const other = found.find(({ kind, value }) => value !== chosen.value && (kind !== 'names' || value > 1));
  const doubt = other === undefined ? null : sentence`${upperFirst(chosen.reason)}, but ${other.reason}: ${chosen.value} layers are taken`;
  return { layers: chosen, doubt };
}

/** Inputs that hold earlier keys: `past_key_values.11.key`, `past_11`, `past_key_11`. */
export function cacheNumber(name: string): number | null {
  if (!/past|cache|\bkv\b/i.test(name) || /value$|_v$|\.v$|value[._]\d+$/i.test(name) || /encoder/i.test(name)) return null;
  const number = /(\d+)/.exec(name)?.[1];
  return number === undefined ? null : Number(number);
}

function cachedLayers(view: GraphView): Candidate | null {
  const numbers = new Set(view.inputs.flatMap(({ name, dims }) => (dims.length >= 3 ? (cacheNumber(name) ?? []) : [])));
  return numbers.size === 0
    ? null
    : { kind: 'caches', value: numbers.size, reason: sentence`${numbers.size} layers have inputs for earlier keys and values` };
}

function namedLayers(view: GraphView): Candidate | null {
  const groups = new Map<string, Set<number>>();
  for (const name of [...view.tensors.keys(), ...view.nodes.map((node) => node.name)]) {
    const match = numbered.exec(name);
    if (match === null || lastNorm.test(name)) continue;
    const [, before = '', word = '', number = ''] = match;
    const key = `${before.replace(/^\//, '').replaceAll('/', '.')}.${word}`;
    const group = groups.get(key) ?? new Set<number>();
    groups.set(key, group.add(Number(number)));
  }
  const all = [...groups];
  const own = all.filter(([key]) => !otherParts.test(key));
  const [best] = (own.length > 0 ? own : all).sort(([, a], [, b]) => b.size - a.size);
  if (best === undefined) return null;
  const [key, { size }] = best;
  return { kind: 'names', value: size, reason: sentence`names count ${size} layers under ${shown(key.replace(/^\./, ''))}` };
}

/** Attention nodes of the graph or branch that has most: branches repeat the same layers. */
function attentionLayers(attentions: TracedGraph['attentions']): Candidate | null {
  const counts = new Map<number, number>();
  for (const { graph } of attentions) counts.set(graph, (counts.get(graph) ?? 0) + 1);
  const most = Math.max(0, maximum(counts.values()));
  const [example] = attentions;
  return most === 0 || example === undefined
    ? null
    : { kind: 'attentions', value: most, reason: sentence`the graph has ${most} attention nodes (${example.operator})` };
}
