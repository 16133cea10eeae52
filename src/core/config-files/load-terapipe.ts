import { ExpectedError, configError } from '../errors';
import type { Finding } from '../findings';
import type { Located, Place } from '../domain/located';
import { parseProfile } from '../measured-profile/file';
import type { NamedProfile } from '../domain/profile';
import { describedBy, readHuggingFace } from '../huggingface/reader';
import type { TrainingOfModel } from '../huggingface/training';
import type { GivenCost } from '../terapipe/cost-section';
import { completeInline, overrideModel } from '../terapipe/inline-model';
import type { ReadReferenced, Run, RunModel } from '../run/run';
import { readTerapipe, type GivenModel, type TerapipeFile } from '../terapipe/terapipe';
import { recogniseModel } from './readers';
import { sentence } from '../sentence';

/** Configs that name configs; a link to its own folder could otherwise give one file endless names. */
const maximumReferences = 10;

/** A model with the files it was drawn from, in reading order. */
interface LoadedModel {
  readonly described: RunModel;
  /** What the model's config sets for training. */
  readonly training?: TrainingOfModel;
  readonly texts: ReadonlyMap<string, string>;
  readonly remarks: readonly Finding[];
}

/** The run of a terapipe.json with the files that it refers to; or why it cannot be loaded, and findings on the file itself. */
type LoadedTerapipe = { readonly run: Run } | { readonly run: null; readonly noRun: ExpectedError; readonly remarks: readonly Finding[] };

/**
 * Reads a terapipe.json, the model and the profile that it names.
 * @param options `withProfile` false: the profile that the config names is not read, as when a new one is measured.
 * @throws ExpectedError, placed: as `readTerapipe`.
 */
export async function loadTerapipe(file: string, text: string, read: ReadReferenced, { withProfile = true } = {}): Promise<LoadedTerapipe> {
  const own = readTerapipe(file, text);
  try {
    const loaded = await loadModel(file, own.model, read, new Set([file]));
    const { profile: named, ...cost } = own.cost;
    const profile = named === undefined || !withProfile ? null : await loadProfile(file, named, read, own.place);
    return { run: buildTerapipeRun(own, loaded, cost, profile) };
  } catch (error) {
    if (error instanceof ExpectedError) return { run: null, noRun: error, remarks: own.remarks };
    throw error;
  }
}

function buildTerapipeRun(own: TerapipeFile, loaded: LoadedModel, cost: Omit<GivenCost, 'profile'>, profile: LoadedProfile | null): Run {
  const { file } = own.document;
  const texts = new Map([[file, own.document.text], ...loaded.texts, ...(profile?.texts ?? [])]);
  const { cluster, training, layout, schedule, schedules, keepFree, unit, scheme, calibration, elastic } = own;
  return {
    file,
    files: [...texts.keys()],
    format: 'terapipe',
    title: configTitle(file),
    place: own.place,
    ...loaded.described,
    ...cluster,
    training: { ...ofModel(loaded, training), ...training },
    layout,
    calibration,
    ...(schedule === undefined ? {} : { schedule }),
    ...(schedules === undefined ? {} : { schedules }),
    ...(keepFree === undefined ? {} : { keepFree }),
    ...(unit === undefined ? {} : { unit }),
    ...(scheme === undefined ? {} : { scheme }),
    ...(elastic === undefined ? {} : { elastic }),
    ...cost,
    ...(profile === null ? {} : { profile: profile.profile }),
    remarks: [...own.remarks, ...loaded.remarks],
    texts,
  };
}

/** What the model's config sets for training; a precision of the run's own file goes before the format that the model was trained in. */
function ofModel({ training = {} }: LoadedModel, { precision }: TerapipeFile['training']): TrainingOfModel {
  if (precision === undefined) return training;
  return training.dropout === undefined ? {} : { dropout: training.dropout };
}

async function loadModel(file: string, given: GivenModel, read: ReadReferenced, seen: ReadonlySet<string>): Promise<LoadedModel> {
  const { from, numbers, place } = given;
  if (from === undefined) return { described: { model: completeInline(numbers, place) }, texts: new Map(), remarks: [] };
  const namedAt = from.source.kind === 'file' ? from.source.place : place;
  const next = await readNamed(file, from.value, read, namedAt);
  if (seen.has(next.file) || seen.size > maximumReferences)
    throw configError('config-cycle', sentence`The configs refer to each other in a cycle`, sentence`name a model config instead`, namedAt);
  const base = await loadReferenced(next.file, next.text, read, new Set([...seen, next.file]), namedAt);
  if (Object.keys(numbers).length === 0) return base;
  return { ...base, described: { ...base.described, model: overrideModel(base.described.model, numbers) } };
}

async function loadReferenced(
  file: string,
  text: string,
  read: ReadReferenced,
  seen: ReadonlySet<string>,
  namedAt: Place,
): Promise<LoadedModel> {
  const format = recogniseModel(file, text);
  if (format === 'huggingface') {
    const config = readHuggingFace(file, text);
    return {
      described: describedBy(config),
      training: config.training,
      texts: new Map([[file, config.document.text]]),
      remarks: config.remarks,
    };
  }
  const { document, model } = readTerapipe(file, text);
  try {
    const loaded = await loadModel(file, model, read, seen);
    return { ...loaded, texts: new Map([[file, document.text], ...loaded.texts]) };
  } catch (error) {
    // The circle is closed in a file that may not be open: say it where the opened one enters it.
    if (error instanceof ExpectedError && error.code === 'config-cycle')
      throw configError('config-cycle', error.what, error.remedy, namedAt);
    throw error;
  }
}

interface LoadedProfile {
  readonly profile: Located<NamedProfile | null>;
  readonly texts: ReadonlyMap<string, string>;
}

/** The profile that `cost.profile` names, with its text; `none` names none. */
async function loadProfile(file: string, named: Located<string>, read: ReadReferenced, place: Place): Promise<LoadedProfile> {
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
    if (error instanceof ExpectedError) throw new ExpectedError(error.code, error.what, error.remedy, namedAt);
    throw error;
  }
}

/** `gpt3-175b` for `.../gpt3-175b/terapipe.json`, otherwise the file's name without its ending. */
export function configTitle(file: string): string {
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
