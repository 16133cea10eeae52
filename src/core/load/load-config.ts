import { ExpectedError } from '../errors';
import type { Finding } from '../findings';
import type { LauncherFile, LauncherReader } from '../formats/facts';
import { aboutModel, factsOfHuggingFace, readHuggingFace, type HuggingFaceModel } from '../formats/huggingface/reader';
import { megatronDefaults } from '../formats/megatron/megatron-defaults';
import { isHybrid } from '../formats/hybrid';
import { runOfLauncher } from '../formats/launcher-run';
import { loadRun, titleOf } from '../formats/load';
import { namedModelOf } from '../formats/named-models';
import { recognise } from '../formats/registry';
import type { ReadReferenced, Run } from '../formats/run';
import type { ConfigFormat } from '../formats/config-format';
import { readTerapipe } from '../formats/terapipe/terapipe';
import { crossFindings } from '../rules/launchers/cross-findings';
import { launchFindings } from '../rules/launch-findings';
import { scheduleCsvFindings } from '../rules/launchers/schedule-csv';
import { configError } from '../formats/errors';
import { startOf } from '../formats/json-document';
import { hasLauncherEnding, isLauncher, readerOf, recogniseNamedConfig } from './readers';
import { withStageLayers } from '../rules/launchers/stage-layers';

/** How the terminal or VS Code reads further files. */
export interface ConfigHost {
  readonly read: ReadReferenced;
  /** The reader of shell scripts, whose grammar is loaded the first time. */
  readonly shell: () => Promise<LauncherReader>;
}

/** A config with everything its files say. */
export interface LoadedConfig {
  readonly format: ConfigFormat;
  /** Null for a model config or a terapipe.json. */
  readonly launcher: LauncherFile | null;
  /** The model config joined to a launcher, as facts. */
  readonly model: LauncherFile | null;
  /** What is planned; null when the model's sizes are nowhere, `noRun` says so. */
  readonly run: Run | null;
  readonly noRun: ExpectedError | null;
  /** What is wrong in the launch, before anything is planned; without a run also in a terapipe.json. */
  readonly findings: readonly Finding[];
}

/** What there is to say about a terapipe.json by itself, whatever it refers to; nothing where it cannot be read. */
function ownRemarks(file: string, text: string): readonly Finding[] {
  try {
    return readTerapipe(file, text).remarks;
  } catch (error) {
    if (error instanceof ExpectedError) return [];
    throw error;
  }
}

/**
 * Reads a config or launcher with what it refers to, and the model config of the same run: the one that it names, else the config.json beside it.
 * @throws ExpectedError, placed: as `loadRun` and the readers of launchers.
 */
export async function loadConfig(
  file: string,
  text: string,
  host: ConfigHost,
  options: { readonly withProfile?: boolean } = {},
): Promise<LoadedConfig> {
  const format = recogniseNamedConfig(file, text);
  if (format === null && !/\.jsonc?$/i.test(file) && hasLauncherEnding(file))
    throw configError(
      'config-unknown-format',
      'This is no launcher that TeraPipe reads',
      'name a Megatron-LM script or YAML, a NeMo, Megatron-Bridge or GPT-NeoX YAML, a TorchTitan TOML, or a DeepSpeed JSON',
      startOf(file),
    );
  if (format === null || !isLauncher(format)) {
    try {
      const run = await loadRun(file, text, host.read, options);
      return { format: run.format, launcher: null, model: null, run, noRun: null, findings: [] };
    } catch (error) {
      const findings = format === 'terapipe' && error instanceof ExpectedError ? ownRemarks(file, text) : [];
      if (!(error instanceof ExpectedError) || findings.length === 0) throw error;
      return { format: 'terapipe', launcher: null, model: null, run: null, noRun: error, findings };
    }
  }
  const launcher = (await readerOf(format, host.shell))(file, text);
  const joined = await joinedModel(launcher, host.read);
  const named = joined === null ? namedModelOf(launcher) : null;
  const { run, noRun } = runOf(launcher, joined ?? (named === null ? null : { config: named.config, texts: new Map() }));
  const cross = joined === null ? [] : crossFindings(launcher, joined.facts);
  const remarks = run === null ? launcher.remarks : launcher.remarks.filter(({ code }) => code !== 'sizes-unknown');
  return {
    format,
    launcher,
    model: joined?.facts ?? null,
    run,
    noRun,
    findings: [
      ...launchFindings(launcher),
      ...cross,
      ...(await csvFindings(launcher, host.read)),
      ...remarks,
      ...(named === null ? [] : [named.remark]),
    ],
  };
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
interface Joined {
  readonly config: HuggingFaceModel;
  readonly texts: ReadonlyMap<string, string>;
}

/** The model config that the launcher names, or the one in its folder. One that cannot be read is passed over: a path on the cluster is seldom one here. */
async function joinedModel(
  { file, modelFiles }: LauncherFile,
  read: ReadReferenced,
): Promise<(Joined & { readonly facts: LauncherFile }) | null> {
  // A launcher may name the model's folder.
  const named = modelFiles.flatMap(({ value }) => (/\.json$/i.test(value) ? [value] : [`${value.replace(/\/$/, '')}/config.json`]));
  for (const path of [...named, 'config.json']) {
    try {
      const { file: found, text } = await read(file, path);
      if (recognise(found, text) !== 'huggingface') continue;
      const config = readHuggingFace(found, text);
      return { config, texts: new Map([[found, config.document.text]]), facts: factsOfHuggingFace(found, text) };
    } catch (error) {
      if (!(error instanceof ExpectedError)) throw error;
    }
  }
  return null;
}

/** That a launcher leaves the model to another file is nothing wrong with it. */
function sizesElsewhere({ place, remarks }: LauncherFile, { message }: ExpectedError): ExpectedError {
  const remark = remarks.find(({ code }) => code === 'sizes-unknown');
  if (remark !== undefined) return new ExpectedError('model-not-planned', remark.message, remark.remedy, remark.place);
  return new ExpectedError(
    'model-not-planned',
    `${message}: this launcher leaves them to another file`,
    'put the config.json of the model beside it to plan the run',
    place,
  );
}

/** With what Megatron's arguments default to, so that a run is planned as it would be launched. */
function asLaunched(launcher: LauncherFile): LauncherFile {
  if (launcher.format !== 'megatron-shell' && launcher.format !== 'megatron-yaml') return launcher;
  return { ...launcher, facts: { ...megatronDefaults(launcher.facts), ...launcher.facts } };
}

function runOf(written: LauncherFile, joined: Joined | null): Pick<LoadedConfig, 'run' | 'noRun'> {
  // Beside a model config the defaults would contradict what it says.
  const launcher = joined === null ? asLaunched(written) : written;
  try {
    if (joined === null) return { run: withStageLayers(runOfLauncher(launcher, titleOf(launcher.file), null), launcher), noRun: null };
    const { config, texts } = joined;
    const run = withStageLayers(runOfLauncher(launcher, titleOf(launcher.file), { model: config.model, texts }), launcher);
    // The layers of a hybrid are told as a whole: by the launcher, or by the config.
    const told = isHybrid(launcher.facts) ? { traits: run.traits ?? {} } : {};
    return { run: { ...run, ...aboutModel(config), ...told }, noRun: null };
  } catch (error) {
    if (error instanceof ExpectedError)
      return { run: null, noRun: error.code === 'config-model-incomplete' ? sizesElsewhere(launcher, error) : error };
    throw error;
  }
}
