import type { Finding } from '../findings';
import { formatCount } from '../format';
import type { Place } from '../domain/located';
import { quoted } from '../text';
import { families } from './families';
import type { Facts } from '../run/facts';
import { nodePlace, fileStart, type Member } from '../languages/json/document';
import { isHybridKind, latentAttentionSizes } from '../run/traits';
import type { Unplanned } from '../run/run';
import { closest } from '../suggest';
import { extraKeys, type FamilyField } from './family';
import { textKeys, type FoundModel } from './find-model';
import { memberNamed } from './members';
import { isAttention } from './read-facts';
import { stackKeys } from './stacks';
import { allOf, counted, sentence, type Sentence } from '../sentence';

/** Real configs have some dozens of keys; further ones are not searched for misspellings. */
const maximumKeys = 500;

/** Remarks on a config that can be read: misspelt keys, and what planning approximates. */
export function remarksOn(
  found: FoundModel,
  facts: Facts,
  unplanned: Unplanned | null,
  guessed: readonly [least: number, most: number] | null,
): Finding[] {
  return [
    ...found.remarks,
    ...(guessed === null || found.modelType.source.kind !== 'file' ? [] : [guess(found, guessed)]),
    ...misspelt(found),
    ...kindsOfLayers(facts),
    ...(unplanned === null
      ? approximations(found, facts)
      : [{ code: 'model-not-planned', severity: 'information', fixes: [], ...unplanned } as const]),
  ];
}

/** A type that is not known: what its layers are is a guess, and so is the number of its parameters. */
function guess(found: FoundModel, [least, most]: readonly [number, number]): Finding {
  return {
    code: 'config-unknown-model-type',
    severity: 'warning',
    place: placeOfType(found),
    message: sentence`Unknown model type ${quoted(found.modelType.value)}: planned as a Llama of its sizes, ${formatCount(least)} to ${formatCount(most)} parameters`,
    remedy: sentence`check its published parameter count; give what differs under "model" in a terapipe.json`,
    fixes: [],
  };
}

const inlineRemedy = sentence`give the sizes of a decoder like it inline under "model" in a terapipe.json to plan that`;

/** The first reason why planning would be of another model than this one; null when there is none. */
export function unplannedReason(found: FoundModel, facts: Facts): Unplanned | null {
  const { family } = found;
  const type = quoted(found.modelType.value);
  const unplannedFor = (reason: Sentence, place: Place = placeOfType(found)): Unplanned => ({
    place,
    message: sentence`Models of type ${type} are read but not planned: ${reason}`,
    remedy: inlineRemedy,
  });
  if (family.kind === 'encoder') {
    const unplanned = unplannedFor(sentence`an encoder attends in both directions, so its sequence cannot be cut into slices`);
    return { ...unplanned, remedy: sentence`plan how its layers freeze with terapipe elastic, or ${inlineRemedy}` };
  }
  const both = found.members.get('is_encoder_decoder');
  if (family.assumed === true && both?.value.value === true)
    return unplannedFor(sentence`its encoder and decoder are of a kind that is not known`, nodePlace(found.document, both.value));
  if (family.kind === 'encoder-decoder' && both?.value.value === false)
    return unplannedFor(sentence`it is only one stack of an encoder-decoder model`, nodePlace(found.document, both.value));
  if (family.unplanned !== undefined) return unplannedFor(family.unplanned);
  const { state } = family;
  const other = facts.attentionKinds?.value.find((kind) =>
    state === undefined ? !isAttention(kind) : !isHybridKind(kind, state.isSingleSublayer === true),
  );
  if (other !== undefined)
    return unplannedFor(sentence`layers of kind ${quoted(other)} are not modelled`, placeOfFact(facts.attentionKinds, found));
  const untold =
    state === undefined ? undefined : uncounted.find(({ key }) => isSet(found.members.get(key)) && family.keys.mlpBias?.[0] !== key);
  if (untold !== undefined) return unplannedFor(untold.reason, placeOfMember(found, untold.key));
  const recurrent = state === undefined ? recurrentPlace(found, facts) : null;
  if (recurrent !== null) return unplannedFor(sentence`not all its layers are attention`, recurrent);
  if (facts.latentAttention !== undefined && latentAttentionSizes(facts) === null)
    return unplannedFor(sentence`it does not give all sizes of its latent attention`, placeOfFact(facts.kvLoraRank, found));
  return family.assumed === true && !isCausal(found)
    ? unplannedFor(sentence`its architectures name no causal language model`, placeOfMember(found, 'architectures'))
    : null;
}

/** What configs of hybrids can ask for that is not counted. */
const uncounted = [{ key: 'mlp_bias', reason: sentence`some of its feed-forward networks have biases` }] as const;

/** Neither absent, nor null, off or 0. Only NemotronH has biases in some of its networks: the others give theirs to all. */
function isSet(member: Member | undefined): boolean {
  return Boolean(member?.value.value);
}

/** Where a config of an unknown type has sizes of layers other than attention. */
function recurrentPlace(found: FoundModel, { hybridPattern }: Facts): Place | null {
  if (hybridPattern !== undefined) return placeOfFact(hybridPattern, found);
  if (found.family.assumed !== true) return null;
  const recurrent = [...found.members.values()].find(
    ({ name, value }) => /^(mamba|ssm|rwkv|linear_(num|key|value|conv))_/.test(name) && value.type === 'number',
  );
  return recurrent === undefined ? null : nodePlace(found.document, recurrent.value);
}

/** Whether the classes that a config of an unknown type names generate text; also when it names none. */
function isCausal({ members, around }: FoundModel): boolean {
  const listed = members.get('architectures') ?? around?.get('architectures');
  const names = (listed?.value.children ?? []).map(({ value }) => String(value));
  return names.length === 0 || names.some((name) => /CausalLM|LMHead|ConditionalGeneration/.test(name));
}

function placeOfType({ document, modelType }: FoundModel): Place {
  if (modelType.source.kind === 'file') return modelType.source.place;
  return { ...fileStart(document.file), range: { start: document.root.offset, end: document.root.offset + 1 } };
}

function placeOfFact(fact: Facts[keyof Facts], found: FoundModel): Place {
  return fact?.source.kind === 'file' ? fact.source.place : placeOfType(found);
}

function placeOfMember(found: FoundModel, name: string): Place {
  const member = found.members.get(name) ?? found.around?.get(name);
  return member === undefined ? placeOfType(found) : nodePlace(found.document, member.value);
}

const knownKeys: ReadonlySet<string> = new Set([
  ...Object.values(families).flatMap(({ keys }) => Object.values(keys).flat()),
  ...Object.values(extraKeys).flat(),
  ...stackKeys,
  ...Object.values(families).flatMap(({ state }) => Object.values(state?.keys ?? {}).flat()),
]);

/**
 * HuggingFace configs hold many keys that mean nothing to planning; one that nearly spells a size we then took by default is worth a word.
 */
function misspelt({ document, members, family }: FoundModel): Finding[] {
  if (family.assumed === true) return [];
  const missing = Object.keys(family.keys)
    .filter((field) => memberNamed(members, family.keys[field as FamilyField]) === undefined)
    .map((field) => family.keys[field as FamilyField]?.[0] ?? '');
  return [...members.values()].slice(0, maximumKeys).flatMap((member) => {
    if (knownKeys.has(member.name) || member.value.type === 'object') return [];
    const meant = closest(member.name, missing, (length) => (length < 8 ? 1 : 2));
    if (meant === null) return [];
    const place = nodePlace(document, member.key);
    return [
      {
        code: 'unknown-key',
        severity: 'warning',
        place,
        message: sentence`${quoted(member.name)} is not a key of ${family.configClass}, which takes its default for ${meant}`,
        remedy: sentence`did you mean "${meant}"?`,
        fixes: [{ title: sentence`Rename to "${meant}"`, preferred: true, edits: [{ place, newText: JSON.stringify(meant) }] }],
      },
    ];
  });
}

function kindsOfLayers({ attentionKinds, layers }: Facts): Finding[] {
  if (attentionKinds?.source.kind !== 'file' || attentionKinds.name !== 'layer_types' || layers === undefined) return [];
  const kinds = attentionKinds.value.length;
  if (kinds === layers.value) return [];
  return [
    {
      code: 'layer-types-length',
      severity: 'warning',
      place: attentionKinds.source.place,
      message: sentence`layer_types names the kinds of ${counted(kinds, 'layer')}, but there ${layers.value === 1 ? sentence`is` : sentence`are`} ${formatCount(layers.value)}`,
      remedy: sentence`list ${formatCount(layers.value)} kinds, or set ${layers.name ?? sentence`the number of layers`} to ${formatCount(kinds)}`,
      fixes: [],
    },
  ];
}

function approximations(found: FoundModel, facts: Facts): Finding[] {
  const { family } = found;
  const crossing = (facts.attentionKinds?.value ?? []).filter((kind) => kind === 'cross_attention').length;
  const planned = [
    ...(family.approximated === undefined ? [] : [[family.approximated, placeOfType(found)] as const]),
    ...(family.configClass === 'GPTNeoConfig' && facts.attentionKinds === undefined
      ? [[sentence`all layers with attention to a window, though some may attend to the whole sequence`, placeOfType(found)] as const]
      : []),
    ...(crossing === 0
      ? []
      : [
          [sentence`${counted(crossing, 'layer')} of cross-attention as self-attention`, placeOfFact(facts.attentionKinds, found)] as const,
        ]),
  ];
  return [
    ...planned.map(([what, place]) =>
      approximated(place, sentence`Planned with ${what}`, sentence`times and sizes may differ slightly from the plan`),
    ),
    ...otherParts(found),
  ];
}

/**
 * What a file describes in addition to its language model: an encoder of images or sound, or parts that may be as large as the model
 * itself.
 */
function otherParts({ document, around }: FoundModel): Finding[] {
  const parts = [...(around?.values() ?? [])].filter(
    ({ name, value }) =>
      value.type === 'object' && /_(config|tower)$|^(vision|audio|visual)$/.test(name) && !textKeys.includes(name) && !settings.test(name),
  );
  const [first] = parts;
  if (first === undefined) return [];
  const others = parts.filter(({ name }) => !/vision|audio|visual|adapt|project|timestamp/.test(name));
  if (others.length === 0)
    return [
      approximated(
        nodePlace(document, first.key),
        sentence`Only the language model is planned, without the encoder of images or sound`,
        sentence`leave room for it in the memory and time of the first stage`,
      ),
    ];
  const unknown = approximated(
    nodePlace(document, (others[0] ?? first).key),
    sentence`Only the language model is planned and counted, without ${allOf(others.map(({ name }) => quoted(name)))}`,
    sentence`leave room for it in memory and time`,
  );
  return [{ ...unknown, severity: 'warning' }];
}

/** Members that describe no part of a model. */
const settings = /^(quantization|generation|compression|rope|peft|training|sampling)/;

function approximated(place: Place, message: Sentence, remedy: Sentence): Finding {
  return { code: 'model-approximated', severity: 'information', place, message, remedy, fixes: [] };
}
