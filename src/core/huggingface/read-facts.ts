import type { Node } from 'jsonc-parser';
import * as v from 'valibot';
import { byDefault, from, type Located, type LocatedFields } from '../domain/located';
import type { Fact, FactName, Facts, FactValues } from '../run/facts';
import { integer, list, nonNegative, type Rule } from '../domain/settings/rules';
import { sharedNames } from '../domain/settings/setting';
import { settings } from '../domain/settings/table';
import type { WrittenModel } from '../run/written-model';
import { extraKeys, type ExtraField } from './family';
import { flag, located, memberNamed, readMember, type Source } from './members';
import { detailsIn } from './details';
import { positionsIn } from './positions';
import { layerIndices } from './sizes';
import { readStackLayers } from './stacks';
import { denseByPeriod, stateLayers, type StateRead } from './ssm';
import { append, without } from '../records';
import { sentence } from '../sentence';

type MutableFacts = { -readonly [K in FactName]?: Located<FactValues[K]> };

const modelFacts = ['modelType', ...sharedNames(settings.model)] as const satisfies readonly (FactName & keyof WrittenModel)[];

/**
 * Everything a config sets, as facts, documented defaults of its class included (their source records that). What the class leaves open,
 * and what this model does not have, is absent.
 * @throws ExpectedError `config-wrong-type`, `config-out-of-range`; placed.
 */
export function readFacts(source: Source, model: LocatedFields<WrittenModel>, state: StateRead | null): Facts {
  const extras = withoutGroups(source, withoutClassDefaults(source, readExtras(source)));
  const kinds = attentionKinds(source, model.layers.value);
  const found: MutableFacts = {
    ...modelFieldFacts(source, model),
    ...(state !== null && model.experts.value === null ? withoutShared(extras) : extras),
    ...(extras.kvLoraRank === undefined ? {} : { latentAttention: from(extras.kvLoraRank, true) }),
    ...stacks(source, model),
    ...kindsByLayer(source, model),
    ...positionsIn(source, model),
    ...detailsIn(source, {
      model,
      isLatent: extras.kvLoraRank !== undefined,
      isGrouped: (extras.routerGroupTopk?.value ?? 0) > 0 && (extras.routerGroups?.value ?? 0) > (extras.routerGroupTopk?.value ?? 0),
      wholeLayers: indicesWhere(kinds?.value ?? [], (kind) => kind === fullAttention),
    }),
    ...state?.facts,
    ...slidingWindow(source, model),
    ...(kinds === null ? {} : { attentionKinds: kinds }),
  };
  return Object.fromEntries(Object.entries(found).map(([name, value]) => [name, locatedFact<unknown>(value)]));
}

/** Fields of a model whose value planning takes from outside the config and its class. */
export function assumedModelFields({ family }: Source, model: LocatedFields<WrittenModel>): readonly (FactName & keyof WrittenModel)[] {
  return (family.assumedFields ?? []).filter(
    (field): field is typeof field & FactName =>
      model[field].source.kind === 'default' && (modelFacts as readonly string[]).includes(field),
  );
}

function locatedFact<T>({ value, source }: Located<T>): Fact<T> {
  return source.kind === 'file' ? { value, source, name: source.key } : { value, source };
}

function modelFieldFacts(source: Source, model: LocatedFields<WrittenModel>): MutableFacts {
  const assumedFields = assumedModelFields(source, model);
  return Object.fromEntries(
    modelFacts.flatMap((name) => {
      const field: Located<unknown> = model[name];
      return field.value === null || assumedFields.includes(name) ? [] : [[name, field]];
    }),
  );
}

/** What experts share means nothing in a hybrid without any. */
function withoutShared(extras: ReturnType<typeof readExtras>): ReturnType<typeof readExtras> {
  return without(extras, 'sharedExperts', 'sharedExpertFfn');
}

/** Null means that there is none; absence, the default of the class. */
function readExtras(source: Source): Partial<Record<ExtraField, Located<number>>> {
  const { family, members } = source;
  const read = Object.entries(extraKeys).flatMap(([name, keys]) => {
    const field = name as ExtraField;
    const member = memberNamed(members, keys);
    if (member?.value.type === 'null') return [];
    const otherwise = family.extras?.[field];
    const found =
      readMember(source, member, integer(0, 10_000_000)) ??
      (otherwise === undefined
        ? undefined
        : byDefault(otherwise, sentence`${family.configClass} default: ${keys[0] ?? name} ${otherwise}`));
    return found === undefined ? [] : [[name, found] as const];
  });
  return Object.fromEntries(read);
}

/** Where a config lists its layers without experts, the class's own first ones do not count. */
function withoutClassDefaults({ members }: Source, extras: ReturnType<typeof readExtras>): ReturnType<typeof readExtras> {
  const listed = (key: string): boolean => members.get(key)?.value.type === 'array';
  const isDefault = extras.firstDenseLayers?.source.kind === 'default';
  if (!listed('mlp_layer_types') && !(isDefault && listed('mlp_only_layers'))) return extras;
  return without(extras, 'firstDenseLayers');
}

/** DeepSeek-V2 chooses among all experts unless its method limits it to groups; one that names none does not. */
function withoutGroups({ members, family }: Source, extras: ReturnType<typeof readExtras>): ReturnType<typeof readExtras> {
  const isAmongAll = family.configClass === 'DeepseekV2Config' && members.get('topk_method')?.value.value !== 'group_limited_greedy';
  return isAmongAll ? without(extras, 'routerGroups', 'routerGroupTopk') : extras;
}

const patternRule: Rule<string> = {
  schema: v.pipe(v.string(), v.minLength(1), v.maxLength(10_000)),
  type: 'string',
  expects: sentence`a letter for each layer`,
};

/** Which layers have experts or are not attention, in addition to the numbers of `extraKeys`. */
function kindsByLayer(source: Source, { layers }: LocatedFields<WrittenModel>): MutableFacts {
  const listed = source.members.get('mlp_only_layers');
  const networks = listedNetworks(source) ?? layersBetween(source, layers.value);
  const dense =
    denseByPeriod(source, layers.value) ??
    networks ??
    (listed?.value.type === 'null' ? undefined : readMember(source, listed, layerIndices));
  const period = source.members.get('moe_layer_freq');
  const frequency = period?.value.type === 'number' ? readMember(source, period, integer(1, 10_000)) : undefined;
  const kinds = source.members.get('hybrid_override_pattern');
  const pattern = kinds?.value.type === 'null' ? undefined : readMember(source, kinds, patternRule);
  return {
    ...(dense === undefined || dense.value.length === 0 ? {} : { denseLayers: dense }),
    ...(frequency === undefined ? {} : { moeLayerFrequency: from(frequency, String(frequency.value)) }),
    ...(pattern === undefined ? {} : { hybridPattern: pattern }),
  };
}

/** Layers whose network is listed as a dense one. */
function listedNetworks(source: Source): Located<readonly number[]> | undefined {
  const listed = source.members.get('mlp_layer_types');
  const kinds = listed?.value.type === 'array' ? readMember(source, listed, kindNames) : undefined;
  return kinds === undefined
    ? undefined
    : from(
        kinds,
        indicesWhere(kinds.value, (kind) => kind === 'dense'),
      );
}

/** Layers outside those that have experts where a config names the first, the last and the interval (ERNIE 4.5). */
function layersBetween(source: Source, layers: number): Located<readonly number[]> | undefined {
  if (source.family.configClass !== 'Ernie4_5_MoeConfig') return undefined;
  const number = (key: string, otherwise: number): Located<number> =>
    readMember(source, source.members.get(key), integer(-1, 10_000)) ??
    byDefault(otherwise, sentence`Ernie4_5_MoeConfig default: ${key} ${otherwise}`);
  const [first, last, interval] = [number('moe_layer_start_index', 1), number('moe_layer_end_index', -1), number('moe_layer_interval', 1)];
  const end = last.value < 0 ? layers - 1 : last.value;
  const isDense = (layer: number): boolean => layer < first.value || layer > end || (layer + 1) % Math.max(1, interval.value) !== 0;
  return from(
    first,
    indicesWhere(ofLayers(layers, String), (layer) => isDense(Number(layer))),
  );
}

function indicesWhere<T>(values: readonly T[], holds: (value: T) => boolean): number[] {
  return values.flatMap((value, index) => (holds(value) ? [index] : []));
}

/** Layers of encoder and decoder; `layers` is the encoder's, as in launchers. */
function stacks(source: Source, { encoderLayers }: LocatedFields<WrittenModel>): MutableFacts {
  const { value, source: origin } = encoderLayers;
  if (value === null) return {};
  const encoder = { value, source: origin };
  const decoder = readStackLayers(source, encoder)?.decoder;
  return { layers: encoder, encoderLayers: encoder, ...(decoder === undefined ? {} : { decoderLayers: decoder }) };
}

function slidingWindow(source: Source, { maxPositions }: LocatedFields<WrittenModel>): MutableFacts {
  const { family, members } = source;
  const member = members.get(family.configClass === gptNeo ? 'window_size' : 'sliding_window');
  const used = family.window?.when === 'always' || flag(source, 'use_sliding_window', family.assumed === true).value;
  const known = family.window !== undefined || family.assumed === true;
  const otherwise = used && known ? (family.window?.tokens ?? null) : null;
  const tokens =
    member === undefined
      ? otherwise === null
        ? undefined
        : byDefault(otherwise, sentence`${family.configClass} default: sliding_window ${otherwise}`)
      : member.value.type === 'number'
        ? readMember(source, member, nonNegative(1e9))
        : undefined;
  if (tokens === undefined) return {};
  const narrower = tokens.value > 0 && (maxPositions.value === null || tokens.value < maxPositions.value);
  return { slidingWindow: tokens, slidingWindowActive: from(tokens, used && known && narrower) };
}

const kindNames = list(v.pipe(v.string(), v.maxLength(64)), 1, 10_000, sentence`a list of layer types, one per layer`);
const defaultCrossLayers = [3, 8, 13, 18, 23, 28, 33, 38];

/** Kind of every layer where they are not all alike, or the config lists them; null otherwise. */
function attentionKinds(source: Source, layers: number): Located<readonly string[]> | null {
  const { family, members } = source;
  const ofState = stateLayers(source, layers);
  if (ofState !== null) return ofState;
  const listed = memberNamed(members, ['layer_types', 'layers_block_type']);
  const written = listed?.value.type === 'array' ? readMember(source, listed, kindNames) : undefined;
  if (written !== undefined) return written;
  if (family.pattern !== undefined) {
    const { keys, kind } = family.pattern;
    const member = memberNamed(members, keys);
    const period =
      (member?.value.type === 'null' ? undefined : readMember(source, member, integer(1, 10_000))) ??
      byDefault(
        family.pattern.period,
        sentence`${family.configClass}: ${family.pattern.period - 1} in ${family.pattern.period} layers are ${kind}`,
      );
    return from(
      period,
      ofLayers(layers, (layer) => ((layer + 1) % period.value === 0 ? fullAttention : kind)),
    );
  }
  if (family.configClass === gptNeo) return repeatedTypes(source, layers);
  if (family.configClass === 'MllamaTextConfig') return crossAttention(source, layers);
  return windowedFrom(source, layers);
}

const fullAttention = 'full_attention';

/** Whether layers of a kind have keys and values of every token: all but recurrent and linear ones. */
export function isAttention(kind: string): boolean {
  return kind.endsWith('attention') && !kind.startsWith('linear');
}

function crossAttention(source: Source, layers: number): Located<readonly string[]> {
  const cross =
    readMember(source, source.members.get('cross_attention_layers'), layerIndices) ??
    byDefault(defaultCrossLayers, sentence`MllamaTextConfig default: cross_attention_layers ${defaultCrossLayers.join(', ')}`);
  const crossing = new Set(cross.value);
  return from(
    cross,
    ofLayers(layers, (layer) => (crossing.has(layer) ? 'cross_attention' : fullAttention)),
  );
}

const gptNeo = 'GPTNeoConfig';

/** `attention_types` of GPT-Neo: lists of `global` and `local`, each with how often it is repeated. */
function repeatedTypes({ members, document }: Source, layers: number): Located<readonly string[]> | null {
  const member = members.get('attention_types');
  const plain = (node: Node): unknown => (node.type === 'array' ? (node.children ?? []).map(plain) : (node.value as unknown));
  const groups: unknown = member === undefined ? [[['global', 'local'], layers]] : plain(member.value);
  const named: unknown[] = [];
  for (const group of Array.isArray(groups) ? (groups as readonly unknown[]) : []) {
    const [types, times] = Array.isArray(group) ? (group as readonly unknown[]) : [];
    if (!Array.isArray(types) || types.length === 0 || !Number.isInteger(times)) continue;
    // what follows the last layer is never reached
    for (let time = 0; time < Number(times) && named.length < layers; time += 1) append(named, types as readonly unknown[]);
  }
  if (named.length < layers) return null;
  const kinds = ofLayers(layers, (layer) => (named[layer] === 'local' ? 'sliding_attention' : fullAttention));
  return member === undefined
    ? byDefault(kinds, sentence`GPTNeoConfig default: global and local in turn`)
    : located(document, member, kinds);
}

/** Qwen's layers from `max_window_layers` on attend to the window. */
function windowedFrom(source: Source, layers: number): Located<readonly string[]> | null {
  const first = source.members.get('max_window_layers');
  if (source.family.window?.when !== 'flag' || !flag(source, 'use_sliding_window', false).value || first === undefined) return null;
  const whole = readMember(source, first, integer(0, 10_000));
  return whole === undefined
    ? null
    : from(
        whole,
        ofLayers(layers, (layer) => (layer < whole.value ? fullAttention : 'sliding_attention')),
      );
}

function ofLayers(layers: number, kindAt: (layer: number) => string): readonly string[] {
  return Array.from({ length: layers }, (_, layer) => kindAt(layer));
}
