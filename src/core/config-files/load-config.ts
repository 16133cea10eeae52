import { formatNumber } from '../format';
import { isLikeMegatron } from '../domain/runtime-habits';
import { settingNamed } from '../domain/settings/table';
import { adaptersNotPlanned } from '../run/adapters';
import { ExpectedError, configError } from '../errors';
import type { Finding } from '../findings';
import type { ComposingReader } from '../launchers/composition';
import type { Fact, FactName, Facts, LauncherFile, LauncherReader, Purpose } from '../run/facts';
import { optimizerRemarks } from '../launchers/tables/optimizer-facts';
import { describedBy, factsOfHuggingFace, readHuggingFace, type HuggingFaceModel } from '../huggingface/reader';
import { hubModel, modelOfHub, unknownModel } from '../huggingface/hub-models';
import { asLaunched } from '../launchers/as-launched';
import { runOfLauncher } from '../launchers/launcher-run';
import { findNamedModel, languageModelRemark } from '../launchers/named-models';
import { isLauncher } from '../launchers/registry';
import type { ReadReferenced, Run } from '../run/run';
import type { ConfigFormat, LauncherFormat } from '../run/config-format';
import { readComposed } from './compose';
import { crossFindings } from '../rules/launchers/cross-findings';
import { launchFindings } from '../rules/launch-findings';
import { scheduleCsvFindings } from '../rules/launchers/schedule-csv';
import { fileStart } from '../languages/json/document';
import { loadTerapipe, configTitle } from './load-terapipe';
import { loadReader, recogniseJson, recogniseConfig, unknownFormat } from './readers';
import { withStageLayers } from '../launchers/stage-layers';
import { sentence, type Sentence } from '../sentence';
import type { Place } from '../domain/located';
import { quoted } from '../text';

/** How the terminal or VS Code reads further files. */
interface ConfigHost {
  readonly read: ReadReferenced;
  /** The reader of shell scripts, whose grammar is loaded the first time. */
  readonly shell: () => Promise<ComposingReader>;
  /** The model of a launcher's file, before what that names: a config.json, its folder, or a model of Hugging Face's hub. */
  readonly model?: string | null;
}

/** A config with everything its files say. */
export interface LoadedConfig {
  readonly format: ConfigFormat;
  /** Null for a model config or a terapipe.json. */
  readonly launcher: LauncherFile | null;
  /** Reads changed texts of the launcher's file, over the files that it builds on; null where `launcher` is. */
  readonly reread: LauncherReader | null;
  /** The model config joined to a launcher, as facts. */
  readonly model: LauncherFile | null;
  /** What is planned; null when no file gives the model's sizes, for which `noRun` is the error. */
  readonly run: Run | null;
  /** The same before settings of a command line; absent: there are none. */
  readonly fileRun?: Run;
  readonly noRun: ExpectedError | null;
  /** What is wrong in the launch, before anything is planned; without a run also in a terapipe.json. */
  readonly findings: readonly Finding[];
}

/**
 * Reads a config or launcher with what it refers to, and the model config of the same run: the one that is asked for or that a comment
 * names, else the one that it names, else the config.json next to it.
 * @throws ExpectedError, placed: as the reader of its format; `config-unknown-format`; `config-cycle` and the errors of `read` at the value
 * that names the file.
 */
export async function loadConfig(
  file: string,
  text: string,
  host: ConfigHost,
  options: { readonly withProfile?: boolean } = {},
): Promise<LoadedConfig> {
  const format = recogniseConfig(file, text, 'named');
  if (format === null) throw unknownFormat(file, text);
  if (isLauncher(format)) {
    const reader = await loadReader(format, host.shell);
    const { launcher, reread } = await readComposed({ file, text }, reader, host.read);
    return { ...(await loadLauncher(launcher, format, host)), reread };
  }
  const withoutLauncher = { format, launcher: null, reread: null, model: null, findings: [] };
  if (format === 'huggingface') return { ...withoutLauncher, run: runOfHuggingFace(readHuggingFace(file, text)), noRun: null };
  const loaded = await loadTerapipe(file, text, host.read, options);
  if (loaded.run !== null) return { ...withoutLauncher, run: loaded.run, noRun: null };
  if (loaded.remarks.length === 0) throw loaded.noRun;
  return { ...withoutLauncher, run: null, noRun: loaded.noRun, findings: loaded.remarks };
}

/** Only a model config: nothing but the model is given. */
function runOfHuggingFace(config: HuggingFaceModel): Run {
  const { document, model, remarks, training } = config;
  const { file, text } = document;
  const { source } = model.modelType;
  return {
    file,
    files: [file],
    format: 'huggingface',
    title: configTitle(file),
    place: source.kind === 'file' ? source.place : fileStart(file),
    ...describedBy(config),
    training,
    layout: {},
    constants: {},
    remarks,
    texts: new Map([[file, text]]),
  };
}

async function loadLauncher(
  launcher: LauncherFile,
  format: LauncherFormat,
  { read, model = null }: ConfigHost,
): Promise<Omit<LoadedConfig, 'reread'>> {
  refuseBeyondLimits(launcher);
  const asked = model === null ? modelInComment(launcher) : { name: model, place: launcher.place };
  const joined = asked === null ? await joinedModel(launcher, read) : await askedModel(launcher, asked, read);
  const named = joined === null ? findNamedModel(launcher) : null;
  const { run, noRun } = launcherRunOrReason(launcher, joined ?? (named === null ? null : { config: named.config, texts: new Map() }));
  const facts = joined === null ? null : factsOfHuggingFace(joined.config);
  const known = named === null ? (facts?.facts ?? {}) : factsOfHuggingFace(named.config).facts;
  const remarks = run === null ? launcher.remarks : launcher.remarks.filter(({ code }) => code !== 'sizes-unknown');
  return {
    format,
    launcher,
    model: facts,
    run,
    noRun,
    findings: [
      ...ownFindings(launcher, known),
      ...(facts === null ? [] : crossFindings(launcher, facts)),
      ...(await csvFindings(launcher, read)),
      ...remarks,
      ...((launcher.purpose ?? 'training') === 'training' ? optimizerRemarks(launcher.facts) : []),
      ...(named === null ? [] : [named.remark]),
      ...(asked !== null && modelOfHub(asked.name).isPart === true ? [languageModelRemark(asked.name, asked.place)] : []),
    ],
  };
}

/** What rules find; of a run that builds on other files no information about those, and nothing at all while one of them is missing. */
function ownFindings(launcher: LauncherFile, model: Facts): readonly Finding[] {
  if (launcher.remarks.some(({ code }) => code === 'base-not-found')) return [];
  return launchFindings(launcher, model).filter(({ severity, place }) => severity !== 'information' || place.file === launcher.file);
}

/** What is wrong with the schedule file that a TorchTitan config names. */
async function csvFindings(launcher: LauncherFile, read: ReadReferenced): Promise<Finding[]> {
  const named = launcher.facts.scheduleCsv;
  if (named === undefined || named.value === '') return [];
  try {
    return scheduleCsvFindings(launcher, await read(launcher.file, named.value));
  } catch (error) {
    if (error instanceof ExpectedError) return scheduleCsvFindings(launcher, null);
    throw error;
  }
}

/** The model of a launcher, with the texts it was read from. */
interface JoinedModel {
  readonly config: HuggingFaceModel;
  readonly texts: ReadonlyMap<string, string>;
}

/**
 * The model config that the launcher names, or the one in its folder. One that cannot be read is passed over: a path on the cluster is
 * seldom one here.
 */
async function joinedModel({ file, modelFiles }: LauncherFile, read: ReadReferenced): Promise<JoinedModel | null> {
  // A launcher may name the model's folder.
  const named = modelFiles.flatMap(({ value }) => (/\.json$/i.test(value) ? [value] : [`${value.replace(/\/$/, '')}/config.json`]));
  for (const path of [...named, 'config.json']) {
    try {
      const { file: found, text } = await read(file, path);
      if (recogniseJson(found, text) !== 'huggingface') continue;
      const config = readHuggingFace(found, text);
      return { config, texts: new Map([[found, config.document.text]]) };
    } catch (error) {
      if (!(error instanceof ExpectedError)) throw error;
    }
  }
  return null;
}

/** A model by a name of the hub or a path, and where that is asked for. */
interface AskedModel {
  readonly name: string;
  readonly place: Place;
}

/** `# terapipe-model: owner/name` of shell, YAML, TOML and Python; null without it. */
function modelInComment({ file, text }: LauncherFile): AskedModel | null {
  const found = /^[ \t]*(?:#|\/\/)[ \t]*terapipe-model:[ \t]*(\S{1,400})/m.exec(text);
  if (found === null) return null;
  const [whole, name = ''] = found;
  const end = found.index + whole.length;
  return { name, place: { file, range: { start: end - name.length, end } } };
}

/**
 * The model that a comment or the command line names: of the hub, where its sizes are known here, else a file.
 * @throws ExpectedError as `readHuggingFace`; `config-inconsistent` where the launcher's file has sizes; `config-not-found` at the name.
 */
async function askedModel({ file, facts }: LauncherFile, { name, place }: AskedModel, read: ReadReferenced): Promise<JoinedModel> {
  if (facts.layers?.source.kind === 'file' && facts.hidden?.source.kind === 'file')
    throw configError(
      'config-inconsistent',
      sentence`This file gives the sizes of its model, and ${quoted(name)} is asked for`,
      sentence`leave that model out, or the sizes in the file`,
      place,
    );
  const published = hubModel(name);
  const path = /\.json$/i.test(name) ? name : `${name.replace(/\/$/, '')}/config.json`;
  const source = published === null ? await readAsked(file, path, { name, place }, read) : { file: path, text: published };
  const config = readHuggingFace(source.file, source.text);
  return { config, texts: new Map([[source.file, config.document.text]]) };
}

async function readAsked(file: string, path: string, { name, place }: AskedModel, read: ReadReferenced): ReturnType<ReadReferenced> {
  try {
    return await read(file, path);
  } catch (error) {
    if (!(error instanceof ExpectedError) || error.code !== 'config-not-found') throw error;
    throw configError('config-not-found', unknownModel(name), sentence`fix the name, or name the config.json of the model`, place);
  }
}

/** That a launcher leaves the model to another file is nothing wrong with it. */
function sizesElsewhere({ file, place, remarks }: LauncherFile, { what }: ExpectedError): ExpectedError {
  const remark = remarks.find(({ code }) => code === 'sizes-unknown');
  if (remark !== undefined) return new ExpectedError('model-not-planned', remark.message, remark.remedy, remark.place);
  const takesComments = !/\.json$/i.test(file);
  return new ExpectedError(
    'model-not-planned',
    sentence`${what} in this file: its launcher reads them from another`,
    takesComments
      ? sentence`put the model's config.json next to it, or add the line # terapipe-model: owner/name to it`
      : sentence`put the model's config.json next to it`,
    place,
  );
}

const purposeWords = {
  conversion: sentence`This converts or changes a checkpoint: nothing is trained, so nothing is planned`,
  evaluation: sentence`This evaluates a model: nothing is trained, so nothing is planned`,
  serving: sentence`This generates text or serves a model: nothing is trained, so nothing is planned`,
  data: sentence`This prepares data: nothing is trained, so nothing is planned`,
} as const satisfies Record<Exclude<Purpose, 'training'>, Sentence>;

/** A script that starts something else than training is read, and nothing is planned. */
function notTraining(place: Place, purpose: Exclude<Purpose, 'training'>): ExpectedError {
  return new ExpectedError('model-not-planned', purposeWords[purpose], sentence`name a script or a config that trains`, place);
}

/** A Trainer trains with the dropout of the model's config; launchers on Megatron Core have settings of their own for it. */
function withDropout(run: Run, { training: { dropout } }: HuggingFaceModel): Run {
  const runtime = run.training.runtime?.value;
  if (dropout === undefined || run.training.dropout !== undefined || isLikeMegatron(runtime) || runtime === 'terapipe') return run;
  return { ...run, training: { ...run.training, dropout } };
}

function launcherRunOrReason(written: LauncherFile, joined: JoinedModel | null): Pick<LoadedConfig, 'run' | 'noRun'> {
  const { purpose = 'training' } = written;
  if (purpose !== 'training') return { run: null, noRun: notTraining(written.place, purpose) };
  const { adapters } = written;
  if (adapters?.unlike !== undefined) return { run: null, noRun: adaptersNotPlanned(adapters) };
  const launcher = asLaunched(written, joined !== null);
  try {
    const described = joined === null ? null : { ...describedBy(joined.config), texts: joined.texts };
    const run = runOfLauncher(launcher, configTitle(launcher.file), described);
    return { run: withStageLayers(joined === null ? run : withDropout(run, joined.config), launcher), noRun: null };
  } catch (error) {
    if (error instanceof ExpectedError)
      return { run: null, noRun: error.code === 'config-model-incomplete' ? sizesElsewhere(launcher, error) : error };
    throw error;
  }
}

/** No list is made of these: launchers' files may have what the planner refuses later, by the number of micro-batches. */
const unlisted: ReadonlySet<FactName> = new Set(['globalBatch']);

/** The largest number that is read of a setting; undefined: any is. */
function settingLimit(name: FactName): number | undefined {
  const { type, read = type } = settingNamed(name);
  return read?.limit;
}

/** Entries of a list that a file writes out: kinds of layers, layers of each stage. */
const longestList = 100_000;

/**
 * Refuses sizes that no run has, before lists of that length are made.
 * @throws ExpectedError `config-out-of-range` at the value, or at the launch where it follows from several.
 */
function refuseBeyondLimits({ facts, place }: Pick<LauncherFile, 'facts' | 'place'>): void {
  const all = Object.entries(facts) as [FactName, Fact<unknown>][];
  // What follows from a value of the file is beyond its limit because that one is.
  const isWritten = ([, { source }]: (typeof all)[number]): boolean => source.kind === 'file';
  for (const [name, fact] of all.toSorted((a, b) => Number(isWritten(b)) - Number(isWritten(a)))) {
    const { value, source } = fact;
    const [size, limit] = Array.isArray(value) ? [value.length, longestList] : [value, settingLimit(name)];
    if (typeof size !== 'number' || limit === undefined || size <= limit || unlisted.has(name)) continue;
    const what = fact.name ?? name;
    throw configError(
      'config-out-of-range',
      Array.isArray(value) ? sentence`${what} has ${formatNumber(size)} entries` : sentence`${what} is ${formatNumber(size)}`,
      Array.isArray(value) ? sentence`give it at most ${formatNumber(limit)}` : sentence`give it a number up to ${formatNumber(limit)}`,
      source.kind === 'file' ? source.place : place,
    );
  }
}
