import type { Finding } from '../findings';
import type { Located } from '../spec/located';
import { quoted } from '../text';
import type { Fact, LauncherFile } from './facts';
import { readHuggingFace, type HuggingFaceModel } from './huggingface/reader';
import { isLauncher, launchers } from './registry';
import { sentence, type Sentence } from '../sentence';

/** A model whose sizes are in no file: the launcher names it, and its code holds them. */
export interface NamedModel {
  /** Every value a default that says whose it is. */
  readonly config: HuggingFaceModel;
  /** Where the sizes are from, said at the name. */
  readonly remark: Finding;
}

/** The model that a launcher names by a flavour or class of its own; null where it names none, or one that is not known here. */
export function namedModelOf({ format, facts }: LauncherFile): NamedModel | null {
  const { flavor } = facts;
  if (flavor?.source.kind !== 'file') return null;
  const model = isLauncher(format) ? launchers[format].modelNamed?.(flavor.value, facts) : undefined;
  if (model === undefined || model.config === null) return null;
  const { name, launcher } = model;
  return {
    config: defaulted(readHuggingFace('', model.config), sentence`${name} of ${launcher}`),
    remark: {
      code: 'sizes-of-launcher',
      severity: 'information',
      place: flavor.source.place,
      message: sentence`The sizes of ${quoted(name)} are those that ${launcher} has in its code`,
      remedy: sentence`if your ${launcher} has others, put the model's config.json beside this file`,
      fixes: [],
    },
  };
}

function defaulted(config: HuggingFaceModel, reason: Sentence): HuggingFaceModel {
  const each = <T extends object>(fields: T): T =>
    Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, withoutPlace(field as Located<unknown>, reason)])) as T;
  const { document, model, traits, facts, assumedFields = [] } = config;
  return { document, model: each(model), traits, facts: each(facts), assumedFields, remarks: [] };
}

/** The value alone: a place in a text that no one can open is none. */
function withoutPlace({ value, source }: Located<unknown>, reason: Sentence): Fact<unknown> {
  return { value, source: source.kind === 'file' ? { kind: 'default', reason } : source };
}
