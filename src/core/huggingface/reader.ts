import { ExpectedError } from '../errors';
import type { Finding } from '../findings';
import { sentence } from '../sentence';
import { quoted } from '../text';
import { fillTemplate } from '../languages/json/template';
import { completeFamily } from './families';
import type { Facts, LauncherFile } from '../run/facts';
import { countParameterRange } from './count';
import { findModel } from './find-model';
import { readFacts, assumedModelFields } from './read-facts';
import { remarksOn, unplannedReason } from './remarks';
import { familyTraits, readSizes } from './sizes';
import { readState } from './ssm';
import { trainingOfModel, type TrainingOfModel } from './training';
import { parseDocument, type JsonDocument, readMembers } from '../languages/json/document';
import type { RunModel } from '../run/run';
import { readModelTraits } from '../run/traits';
import type { ModelTraits } from '../run/written-model';
import type { EncoderSizes } from '../model/ends';
import { integer } from '../domain/settings/rules';
import type { Family } from './family';
import { readMember, type Source } from './members';
import { own } from '../records';

/**
 * What each class that is read as an encoder has in addition to its layers. Absent: not known well enough to count. Source: configuration
 * classes of transformers 4.40.
 */
const known: Readonly<Record<string, Pick<EncoderSizes, 'tokenTypes' | 'pooler'> & { readonly image?: EncoderSizes['image'] }>> = {
  BertConfig: { tokenTypes: 2, pooler: true },
  RobertaConfig: { tokenTypes: 2, pooler: true },
  CamembertConfig: { tokenTypes: 2, pooler: true },
  XLMRobertaConfig: { tokenTypes: 2, pooler: true },
  DistilBertConfig: { tokenTypes: 0, pooler: false },
  ViTConfig: { tokenTypes: 0, pooler: true, image: { size: 224, patch: 16, channels: 3 } },
};

/** Classes of a head when the config names none (`PretrainedConfig.num_labels`). */
const defaultClasses = 2;

/**
 * Ends of an encoder as its config gives them; null for other families.
 * @throws ExpectedError `config-wrong-type`, `config-out-of-range`, `config-duplicate-key`; placed.
 */
function readEncoder(source: Source): EncoderSizes | null {
  const family: Family = source.family;
  const sizes = own(known, family.configClass);
  if (family.kind !== 'encoder' || sizes === undefined) return null;
  const read = (key: string, otherwise: number, least = 1): number =>
    readMember(source, source.members.get(key), integer(least, 1_000_000))?.value ?? otherwise;
  const { image = null } = sizes;
  return {
    image:
      image === null
        ? null
        : { size: read('image_size', image.size), patch: read('patch_size', image.patch), channels: read('num_channels', image.channels) },
    tokenTypes: sizes.tokenTypes === 0 ? 0 : read('type_vocab_size', sizes.tokenTypes, 0),
    pooler: sizes.pooler,
    classes: labels(source) ?? read('num_labels', defaultClasses),
    architecture: architecture(source),
  };
}

/** Labels that `id2label` lists. */
function labels({ document, members }: Source): number | null {
  const listed = members.get('id2label');
  if (listed?.value.type !== 'object') return null;
  const count = readMembers(document, listed.value, 'id2label').size;
  return count === 0 ? null : count;
}

function architecture({ members }: Source): string | null {
  const [first] = members.get('architectures')?.value.children ?? [];
  return first?.type === 'string' ? String(first.value) : null;
}

/** What one config.json sets: the model of a run, with all that it sets as facts. */
export interface HuggingFaceModel extends RunModel {
  readonly traits: ModelTraits;
  readonly facts: Facts;
  readonly document: JsonDocument;
  readonly remarks: readonly Finding[];
  /** The training settings that it has. */
  readonly training: TrainingOfModel;
}

/**
 * Reads a HuggingFace config.json: sizes with their places, the documented defaults of its class for what is absent. Multimodal configs are
 * read for their language model, configs of an unknown type as a Llama when they have its keys. Encoders, latent attention and the like are
 * read, and `unplanned` means that planning does not support them.
 * @throws ExpectedError as `parseDocument`, `config-unknown-model-type`, `config-wrong-type`, `config-out-of-range`; all placed.
 */
export function readHuggingFace(file: string, text: string): HuggingFaceModel {
  const document = parseConfigDocument(file, text);
  const found = findModel(document);
  const model = completeFamily(found.family, found.modelType, readSizes(found, found.around));
  const state = readState(found, model);
  const facts = readFacts(found, model, state);
  const unplanned = unplannedReason(found, facts);
  const encoder = readEncoder(found);
  const traits = readModelTraits(
    facts,
    familyTraits(found, model),
    state === null ? null : { state: state.state, isSingleSublayer: found.family.state?.isSingleSublayer === true },
  );
  const guessed = countParameterRange({ model, traits, unplanned: unplanned ?? undefined });
  return {
    document,
    model,
    traits,
    facts,
    assumedFields: assumedModelFields(found, model),
    ...(unplanned === null ? {} : { unplanned }),
    ...(encoder === null ? {} : { encoder }),
    remarks: remarksOn(found, facts, unplanned, guessed),
    training: trainingOfModel(found),
  };
}

/** @throws ExpectedError as `parseDocument`; `model-not-planned` for a template whose sizes are still to be filled in. */
function parseConfigDocument(file: string, text: string): JsonDocument {
  try {
    return parseDocument(file, text, 'json');
  } catch (error) {
    const [first] = error instanceof ExpectedError && error.code === 'config-json-syntax' ? fillTemplate(text).placeholders.values() : [];
    if (first === undefined) throw error;
    const place = { file, range: { start: first.start, end: first.start + first.written.length } };
    throw new ExpectedError(
      'model-not-planned',
      sentence`This is a template: ${quoted(first.name)} stands for a value`,
      sentence`name the config.json that it is filled in to`,
      place,
    );
  }
}

/** Only what it sets for the model. */
export function describedBy({ model, traits, facts, assumedFields, unplanned, encoder }: HuggingFaceModel): RunModel {
  return {
    model,
    traits,
    facts,
    ...(assumedFields === undefined ? {} : { assumedFields }),
    ...(unplanned === undefined ? {} : { unplanned }),
    ...(encoder === undefined ? {} : { encoder }),
  };
}

/** The same as facts, for joining with a launcher that trains this model. Facts from defaults of the class are marked in their source. */
export function factsOfHuggingFace({ document, facts, remarks }: HuggingFaceModel): LauncherFile {
  const { file, text, root } = document;
  const first = Object.values(facts).flatMap(({ source }) => (source.kind === 'file' ? [source.place] : []))[0];
  return {
    file,
    format: 'huggingface',
    text,
    place: first ?? { file, range: { start: root.offset, end: root.offset + 1 } },
    facts,
    remarks,
    modelFiles: [],
    placeholders: [],
  };
}
