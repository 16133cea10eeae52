import type { Finding } from '../../findings';
import type { LocatedFields } from '../../spec/located';
import type { EncoderSizes } from '../../model/ends';
import { completeFamily } from '../families';
import type { FactName, Facts, LauncherFile } from '../facts';
import { readEncoder } from './encoder';
import { findModel } from './find-model';
import { readFacts, unsaidOf } from './read-facts';
import { remarksOn, unplannedOf } from './remarks';
import { familyTraits, readSizes } from './sizes';
import { readState } from './ssm';
import { parseDocument, type JsonDocument } from '../json-document';
import type { Run, Unplanned } from '../run';
import { traitsOf } from '../traits';
import type { ModelTraits, WrittenModel } from '../written-model';

/** What one config.json says. */
export interface HuggingFaceModel {
  readonly document: JsonDocument;
  /** As planning takes it. */
  readonly model: LocatedFields<WrittenModel>;
  /** What the model has beyond sizes. */
  readonly traits: ModelTraits;
  /** All that the config says, what planning has no field for included. */
  readonly facts: Facts;
  /** Fields of `model` that neither the config nor the documentation of its class gives. */
  readonly unsaid: readonly (FactName & keyof WrittenModel)[];
  /** Why planning would be of another model than this one. */
  readonly unplanned: Unplanned | null;
  /** Null but for encoders. */
  readonly encoder: EncoderSizes | null;
  readonly remarks: readonly Finding[];
}

/**
 * Reads a HuggingFace config.json: sizes with their places, the documented defaults of its class for what is absent. Multimodal configs are read for their language model, configs of
 * an unknown type as a Llama when they have its keys. Encoders, latent attention and the like are read, and `unplanned` says that planning has no word for them.
 * @throws ExpectedError as `parseDocument`, `config-unknown-model-type`, `config-wrong-type`, `config-out-of-range`; all placed.
 */
export function readHuggingFace(file: string, text: string): HuggingFaceModel {
  const document = parseDocument(file, text, 'json');
  const found = findModel(document);
  const model = completeFamily(found.family, found.modelType, readSizes(found, found.around));
  const state = readState(found, model);
  const facts = readFacts(found, model, state);
  const unplanned = unplannedOf(found, facts);
  const remarks = remarksOn(found, facts, unplanned);
  return {
    document,
    model,
    traits: traitsOf(
      facts,
      familyTraits(found),
      state === null ? null : { state: state.state, isSingleSublayer: found.family.state?.isSingleSublayer === true },
    ),
    facts,
    unsaid: unsaidOf(found, model),
    unplanned,
    encoder: readEncoder(found),
    remarks,
  };
}

/** What a run takes over from the config of its model, beside the sizes. */
export function aboutModel({
  facts,
  traits,
  unsaid,
  unplanned,
  encoder,
}: HuggingFaceModel): Pick<Run, 'facts' | 'unsaid' | 'unplanned' | 'traits' | 'encoder'> {
  return { facts, traits, unsaid, ...(unplanned === null ? {} : { unplanned }), ...(encoder === null ? {} : { encoder }) };
}

/** The same as facts, for joining with a launcher that trains this model. Facts from defaults of the class say so in their source. */
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
