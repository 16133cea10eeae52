import { ExpectedError } from '../errors';
import type { Finding } from '../findings';
import type { Located, LocatedFields, Place } from '../spec/located';
import { parseProfile } from '../slice-times/file';
import type { NamedProfile } from '../spec/profile';
import { configError } from './errors';
import { aboutModel, readHuggingFace } from './huggingface/reader';
import { completeInline, overrideModel } from './terapipe/inline-model';
import { parseDocument, placeOf, startOf } from './json-document';
import { recogniseNamed } from './registry';
import type { ReadReferenced, Run } from './run';
import { readTerapipe, type GivenModel } from './terapipe/terapipe';
import type { WrittenModel } from './written-model';

/** Configs that name configs; a link to its own folder could otherwise give one file endless names. */
const maximumReferences = 10;

/** A model with the files it was drawn from, in reading order. */
interface LoadedModel {
  readonly model: LocatedFields<WrittenModel>;
  readonly texts: ReadonlyMap<string, string>;
  readonly remarks: readonly Finding[];
  readonly about: Pick<Run, 'facts' | 'unsaid' | 'unplanned' | 'traits' | 'encoder'>;
}

/**
 * Reads a config and what it refers to.
 * @param options `withProfile` false: the profile that the config names is not read, as when a new one is measured.
 * @throws ExpectedError, placed: as `readHuggingFace`, `readTerapipe` and `parseProfile`; `config-unknown-format`; `config-cycle` and the errors of `read` at the value that names the file.
 */
export async function loadRun(file: string, text: string, read: ReadReferenced, { withProfile = true } = {}): Promise<Run> {
  const format = recogniseNamed(file, text);
  if (format === null) throw unknownFormat(file, text);
  if (format === 'huggingface') {
    const config = readHuggingFace(file, text);
    const { document, model, remarks } = config;
    return {
      file,
      files: [file],
      format,
      title: titleOf(file),
      place: model.modelType.source.kind === 'file' ? model.modelType.source.place : startOf(file),
      model,
      training: {},
      layout: {},
      constants: {},
      ...aboutModel(config),
      remarks,
      texts: new Map([[file, document.text]]),
    };
  }
  const own = readTerapipe(file, text);
  const loaded = await loadModel(file, own.model, read, new Set([file]));
  const { profile: namedProfile, ...cost } = own.cost;
  const profile = namedProfile === undefined || !withProfile ? undefined : await loadProfile(file, namedProfile, read, own.place);
  const texts = new Map([[file, own.document.text], ...loaded.texts, ...(profile?.texts ?? [])]);
  const { cluster, training, layout, schedule, unit, scheme, calibration, elastic } = own;
  return {
    file,
    files: [...texts.keys()],
    format,
    title: titleOf(file),
    place: own.place,
    model: loaded.model,
    ...loaded.about,
    ...cluster,
    training,
    layout,
    calibration,
    ...(schedule === undefined ? {} : { schedule }),
    ...(unit === undefined ? {} : { unit }),
    ...(scheme === undefined ? {} : { scheme }),
    ...(elastic === undefined ? {} : { elastic }),
    ...cost,
    ...(profile === undefined ? {} : { profile: profile.profile }),
    remarks: [...own.remarks, ...loaded.remarks],
    texts,
  };
}

async function loadModel(file: string, given: GivenModel, read: ReadReferenced, seen: ReadonlySet<string>): Promise<LoadedModel> {
  const { from, numbers, place } = given;
  if (from === undefined) return { model: completeInline(numbers, place), texts: new Map(), remarks: [], about: {} };
  const namedAt = from.source.kind === 'file' ? from.source.place : place;
  const next = await readNamed(file, from.value, read, namedAt);
  if (seen.has(next.file) || seen.size > maximumReferences)
    throw configError('config-cycle', 'The configs name each other in a circle', 'name a model config instead', namedAt);
  const base = await loadReferenced(next.file, next.text, read, new Set([...seen, next.file]), namedAt);
  return { ...base, model: Object.keys(numbers).length === 0 ? base.model : overrideModel(base.model, numbers) };
}

async function loadReferenced(
  file: string,
  text: string,
  read: ReadReferenced,
  seen: ReadonlySet<string>,
  namedAt: Place,
): Promise<LoadedModel> {
  const format = recogniseNamed(file, text);
  if (format === null) throw unknownFormat(file, text);
  if (format === 'huggingface') {
    const config = readHuggingFace(file, text);
    const { document, model, remarks } = config;
    return { model, texts: new Map([[file, document.text]]), remarks, about: aboutModel(config) };
  }
  const { document, model } = readTerapipe(file, text);
  try {
    const loaded = await loadModel(file, model, read, seen);
    return { ...loaded, texts: new Map([[file, document.text], ...loaded.texts]) };
  } catch (error) {
    // The circle is closed in a file that may not be open: say it where the opened one enters it.
    if (error instanceof ExpectedError && error.code === 'config-cycle')
      throw configError('config-cycle', error.message, error.remedy, namedAt);
    throw error;
  }
}

/** The profile that `cost.profile` names, with its text; `none` names none. */
async function loadProfile(
  file: string,
  named: Located<string>,
  read: ReadReferenced,
  place: Place,
): Promise<{ readonly profile: Located<NamedProfile | null>; readonly texts: ReadonlyMap<string, string> }> {
  if (named.value === 'none') return { profile: { ...named, value: null }, texts: new Map() };
  const next = await readNamed(file, named.value, read, named.source.kind === 'file' ? named.source.place : place);
  return {
    profile: { ...named, value: { file: next.file, profile: parseProfile(next.text, next.file) } },
    texts: new Map([[next.file, next.text]]),
  };
}

async function readNamed(file: string, named: string, read: ReadReferenced, namedAt: Place) {
  try {
    return await read(file, named);
  } catch (error) {
    if (error instanceof ExpectedError) throw new ExpectedError(error.code, error.message, error.remedy, namedAt);
    throw error;
  }
}

/** The reason why nothing was recognised: not JSON at all, or JSON of something else. */
function unknownFormat(file: string, text: string): Error {
  const document = parseDocument(file, text, 'jsonc');
  const { offset } = document.root;
  return configError(
    'config-unknown-format',
    'This is neither a HuggingFace config.json nor a terapipe.json',
    'name a file with model_type, or one with "model"',
    { ...placeOf(document, document.root), range: { start: offset, end: offset + 1 } },
  );
}

/** `gpt3-175b` for `.../gpt3-175b/terapipe.json`, otherwise the file's name without its ending. */
export function titleOf(file: string): string {
  const parts = decoded(file)
    .split(/[/\\]/)
    .filter((part) => part !== '');
  const name = parts.at(-1) ?? file;
  const folder = parts.at(-2);
  if (folder !== undefined && /^(config|terapipe)\.jsonc?$/i.test(name)) return folder;
  return name.replace(/(\.config|\.terapipe)?\.(jsonc?|ya?ml|toml|sh|bash|slurm|sbatch)$/i, '');
}

function decoded(file: string): string {
  try {
    return decodeURIComponent(file);
  } catch {
    return file;
  }
}
