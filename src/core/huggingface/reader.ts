import { ExpectedError } from '../errors';
import type { Finding } from '../findings';
import { sentence } from '../sentence';
import { quoted } from '../text';
import { fillTemplate } from '../languages/json/template';
import { completeFamily } from './families';
import type { Facts, LauncherFile } from '../run/facts';
import { readEncoder } from './encoder';
import { countParameterRange } from './count';
import { findModel } from './find-model';
import { readFacts, assumedModelFields } from './read-facts';
import { remarksOn, unplannedReason } from './remarks';
import { familyTraits, readSizes } from './sizes';
import { readState } from './ssm';
import { trainingOfModel, type TrainingOfModel } from './training';
import { parseDocument, type JsonDocument } from '../languages/json/document';
import type { RunModel } from '../run/run';
import { readModelTraits } from '../run/traits';
import type { ModelTraits } from '../run/written-model';

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
