import type { Finding } from '../findings';
import type { Located, Place } from '../domain/located';
import { quoted } from '../text';
import type { Fact, LauncherFile } from '../run/facts';
import { readHuggingFace, type HuggingFaceModel } from '../huggingface/reader';
import type { ModelOfLauncher } from '../huggingface/hub-models';
import { isLauncher, launchers } from './registry';
import type { ModelDetails } from '../domain/settings/model-details';
import { withDetails } from '../run/written-model';
import { sentence, type Sentence } from '../sentence';

/** A model that a launcher names, whose sizes are not in a file but in the launcher's code or published. */
interface NamedModel {
  /** Every value is a default, with its origin as the reason. */
  readonly config: HuggingFaceModel;
  /** Where the sizes are from; placed at the name. */
  readonly remark: Finding;
}

/** The model that a launcher names by a flavour, a class or a name of the hub; null where it names none, or one that is not known here. */
export function findNamedModel({ format, facts }: LauncherFile): NamedModel | null {
  const { flavor } = facts;
  if (flavor?.source.kind !== 'file') return null;
  const model = isLauncher(format) ? launchers[format].modelNamed?.(flavor.value, facts) : undefined;
  if (model === undefined || model.config === null) return null;
  const { reason, message, remedy } = namedModelTexts(model);
  return {
    config: defaulted(withTraits(withoutClassDetails(readHuggingFace('', model.config)), model.details), reason),
    remark: { code: 'sizes-of-launcher', severity: 'information', place: flavor.source.place, message, remedy, fixes: [] },
  };
}

/** That of a model which is asked for only its language model is planned. */
export function languageModelRemark(name: string, place: Place): Finding {
  const { message, remedy } = namedModelTexts({ name, home: 'hub', config: null, isPart: true });
  return { code: 'sizes-of-launcher', severity: 'information', place, message, remedy, fixes: [] };
}

/**
 * Without what no plan depends on and only the class of transformers gives: a Llama-3 has another rotary base than `LlamaConfig`. What is
 * written from it then names what is open.
 */
function withoutClassDetails(config: HuggingFaceModel): HuggingFaceModel {
  const { rotaryBase, normEpsilon, ...facts } = config.facts;
  const { rotary: { base, ...rotary } = {}, normEpsilon: epsilon, ...traits } = config.traits;
  const keepsBase = rotaryBase?.source.kind === 'file';
  const keepsEpsilon = normEpsilon?.source.kind === 'file';
  const kept = { ...rotary, ...(keepsBase && base !== undefined && { base }) };
  return {
    ...config,
    facts: { ...facts, ...(keepsBase && { rotaryBase }), ...(keepsEpsilon && { normEpsilon }) },
    traits: {
      ...traits,
      ...(Object.keys(kept).length > 0 && { rotary: kept }),
      ...(keepsEpsilon && epsilon !== undefined && { normEpsilon: epsilon }),
    },
  };
}

function withTraits(config: HuggingFaceModel, details: ModelDetails = {}): HuggingFaceModel {
  return { ...config, traits: withDetails(config.traits, details) };
}

function namedModelTexts({ name, home, isPart }: ModelOfLauncher): Readonly<Record<'reason' | 'message' | 'remedy', Sentence>> {
  if (home === 'hub')
    return {
      reason: sentence`${name} on Hugging Face's hub`,
      message: isPart
        ? sentence`Only the language model of ${quoted(name)} is planned, with the sizes that are published under this name`
        : sentence`The file does not say how large ${quoted(name)} is: the sizes are those that are published under this name`,
      remedy: sentence`if your model has others, put its config.json next to this file`,
    };
  if (home === 'preset')
    return {
      reason: sentence`the published model of the name ${name}`,
      message: isPart
        ? sentence`The file with the sizes of ${quoted(name)} is missing: its published language model is planned`
        : sentence`The file that sets the sizes of ${quoted(name)} is not here: they are those of the published model of this name`,
      remedy: sentence`open the folder that holds it too`,
    };
  if ('base' in home)
    return {
      reason: sentence`those of ${home.base}, whose name ${name} contains`,
      message: isPart
        ? sentence`${quoted(name)} has no published sizes here: the language model of ${home.base}, whose name it contains, is planned`
        : sentence`${quoted(name)} has no published sizes here: those of ${home.base}, whose name it contains, are planned`,
      remedy: sentence`if your model has others, put its config.json next to this file`,
    };
  const { launcher } = home;
  return {
    reason: sentence`${name} of ${launcher}`,
    message: sentence`The file does not say how large ${quoted(name)} is: the sizes are those in the code of ${launcher}`,
    remedy: sentence`if your version of ${launcher} has others, put the model's config.json next to this file`,
  };
}

function defaulted(config: HuggingFaceModel, reason: Sentence): HuggingFaceModel {
  const each = <T extends object>(fields: T): T =>
    Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, withoutPlace(field as Located<unknown>, reason)])) as T;
  const { document, model, traits, facts, assumedFields = [] } = config;
  return {
    training: {},
    document,
    model: each(model),
    traits,
    facts: each(facts),
    assumedFields,
    remarks: [],
  };
}

/** Only the value: a place in a text that no one can open is none. */
function withoutPlace({ value, source }: Located<unknown>, reason: Sentence): Fact<unknown> {
  return { value, source: source.kind === 'file' ? { kind: 'default', reason } : source };
}
