import * as v from 'valibot';
import type { Finding } from '../findings';
import type { Located, LocatedFields } from '../located';
import { orList, quoted } from '../text';
import { configError } from './errors';
import { byDefault, completeFamily, families, familyNames, isFamily, type Family, type FamilyField, type FamilyName } from './families';
import { modelFields } from './fields';
import { membersOf, parseDocument, placeOf, type JsonDocument, type Member } from './json-document';
import { integer, list, nonNegative, readByRule, type Rule } from './rules';
import type { Given } from './run';
import { closest } from './suggest';
import type { WrittenModel } from './written-model';

/** What one config.json says. */
export interface HuggingFaceModel {
  readonly document: JsonDocument;
  readonly model: LocatedFields<WrittenModel>;
  readonly remarks: readonly Finding[];
}

/** Real configs have some dozens of keys; further ones are not searched for misspellings. */
const maximumKeys = 500;

type Members = ReadonlyMap<string, Member>;

const layerList = list(v.pipe(v.number(), v.integer(), v.minValue(0)), 0, 10_000, 'a list of layer indices');

/**
 * Reads a HuggingFace config.json of one of `familyNames`: sizes with their places, the family's documented defaults for what is absent.
 * @throws ExpectedError as `parseDocument`, `config-unknown-model-type`, `config-wrong-type`, `config-out-of-range`; all placed.
 */
export function readHuggingFace(file: string, text: string): HuggingFaceModel {
  const document = parseDocument(file, text, 'json');
  const members = membersOf(document, document.root, 'the config');
  const { name, modelType } = familyOf(document, members);
  const family = families[name];
  const given = readGiven(document, members, family);
  return {
    document,
    model: completeFamily(name, modelType, given),
    remarks: [
      ...misspelt(document, members, family),
      ...slidingWindow(document, members, family),
      ...denseLayers(document, members, family),
    ],
  };
}

function familyOf(document: JsonDocument, members: Members): { name: FamilyName; modelType: Located<string> } {
  const member = members.get('model_type');
  const remedy = `use a config of ${orList(familyNames)}`;
  if (member === undefined) {
    // The first published GPT-2 configs have no model_type.
    if (members.has('n_embd') && members.has('n_layer'))
      return { name: 'gpt2', modelType: byDefault('gpt2', 'no model_type, but n_embd and n_layer as GPT2Config has') };
    throw configError('config-unknown-model-type', 'The config has no model_type', remedy, placeOf(document, document.root));
  }
  const value: unknown = member.value.value;
  if (typeof value !== 'string')
    throw configError('config-wrong-type', 'model_type is not a string', remedy, placeOf(document, member.value));
  if (!isFamily(value))
    throw configError(
      'config-unknown-model-type',
      `The model type ${quoted(value)} is not one that is read yet`,
      remedy,
      placeOf(document, member.value),
    );
  return { name: value, modelType: located(document, member, value) };
}

function readGiven(document: JsonDocument, members: Members, family: Family): Given<WrittenModel> {
  const read = <K extends FamilyField>(field: K, rule: Rule<WrittenModel[K]> = modelFields[field]): Given<WrittenModel> => {
    const member = memberOf(members, family, field);
    if (member === undefined) return {};
    return { [field]: located(document, member, readByRule(document, member.value, member.name, rule)) };
  };
  const sizes: Given<WrittenModel> = { ...read('hidden'), ...read('heads') };
  const hidden = sizes.hidden?.value ?? family.defaults.hidden;
  const heads = sizes.heads?.value ?? family.defaults.heads;
  /** For keys whose null transformers replaces: by the derived value, which is also the default of most families. */
  const readNullable = (field: 'kvHeads' | 'headDim' | 'ffn', derived: number): Given<WrittenModel> => {
    const member = memberOf(members, family, field);
    if (member?.value.type !== 'null') return read(field);
    return family.defaults[field] === null ? {} : { [field]: located(document, member, derived) };
  };
  return {
    ...sizes,
    ...read('layers'),
    ...readNullable('kvHeads', heads),
    ...readNullable('headDim', Math.max(1, Math.floor(hidden / heads))),
    ...(family.defaults.ffn === null ? readNullable('ffn', 4 * hidden) : read('ffn')),
    ...read('experts'),
    ...read('activeExperts'),
    ...read('expertFfn'),
    ...read('vocab', integer(1, 100_000_000)),
    ...read('tiedEmbeddings'),
    ...read('maxPositions'),
    ...read('qkvBias'),
    ...read('attentionOutputBias'),
    ...read('mlpBias'),
  };
}

function memberOf(members: Members, family: Family, field: FamilyField): Member | undefined {
  const name = family.keys[field]?.find((key) => members.has(key));
  return name === undefined ? undefined : members.get(name);
}

function located<T>(document: JsonDocument, member: Member, value: T): Located<T> {
  return { value, source: { kind: 'file', place: placeOf(document, member.value), key: member.name } };
}

/** HuggingFace configs hold many keys that mean nothing to planning; one that nearly spells a size we then took by default is worth a word. */
function misspelt(document: JsonDocument, members: Members, family: Family): Finding[] {
  const missing = Object.entries(family.keys)
    .filter(([field]) => memberOf(members, family, field as FamilyField) === undefined)
    .map(([, names]) => names[0] ?? '');
  const knownElsewhere = new Set(Object.values(families).flatMap(({ keys }) => Object.values(keys).flat()));
  return [...members.values()].slice(0, maximumKeys).flatMap((member) => {
    if (knownElsewhere.has(member.name) || member.value.type === 'object') return [];
    const meant = closest(member.name, missing, (length) => (length < 8 ? 1 : 2));
    if (meant === null) return [];
    const place = placeOf(document, member.key);
    return [
      {
        code: 'unknown-key',
        severity: 'warning',
        place,
        message: `${quoted(member.name)} is not a key of ${family.configClass}, which takes its default for ${meant}`,
        remedy: `did you mean "${meant}"?`,
        fixes: [{ title: `Rename to "${meant}"`, preferred: true, edits: [{ place, newText: JSON.stringify(meant) }] }],
      },
    ];
  });
}

function slidingWindow(document: JsonDocument, members: Members, family: Family): Finding[] {
  const window = members.get('sliding_window');
  if (window?.value.type !== 'number') return [];
  if (!['MistralConfig', 'MixtralConfig'].includes(family.configClass) && members.get('use_sliding_window')?.value.value !== true)
    return [];
  const tokens = readByRule(document, window.value, 'sliding_window', nonNegative(1e9));
  const positions: unknown = memberOf(members, family, 'maxPositions')?.value.value ?? family.defaults.maxPositions;
  if (tokens === 0 || (typeof positions === 'number' && tokens >= positions)) return [];
  return [
    {
      code: 'sliding-window-ignored',
      severity: 'information',
      place: placeOf(document, window.value),
      message: `Attention is planned over the whole sequence, not over a window of ${tokens} tokens`,
      remedy: `expect less attention time than planned for sequences over ${tokens} tokens`,
      fixes: [],
    },
  ];
}

/** Layers that have one feed-forward network among layers of experts: they are planned as the others, which is worth a warning. */
function denseLayers(document: JsonDocument, members: Members, family: Family): Finding[] {
  if (family.configClass !== 'Qwen3MoeConfig') return [];
  const listed = members.get('mlp_only_layers');
  const step = members.get('decoder_sparse_step');
  const differs = [
    ...(listed !== undefined && listed.value.type !== 'null' && readByRule(document, listed.value, listed.name, layerList).length > 0
      ? [listed]
      : []),
    ...(step !== undefined && readByRule(document, step.value, step.name, integer(1, 10_000)) !== 1 ? [step] : []),
  ];
  return differs.map((member) => ({
    code: 'layers-differ',
    severity: 'warning',
    place: placeOf(document, member.value),
    message: `${member.name} makes some layers dense, but all are planned with experts`,
    remedy: 'expect fewer parameters, less memory and other times than planned in the dense layers',
    fixes: [],
  }));
}
