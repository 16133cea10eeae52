import path from 'node:path';
import { requireRun } from '../core/export/planned-config';
import { overridden } from '../core/domain/located';
import type { LauncherReader } from '../core/run/facts';
import { applyOverrides } from '../core/terapipe/overrides';
import type { ReadReferenced, Run } from '../core/run/run';
import { loadConfig, type LoadedConfig } from '../core/config-files/load-config';
import { hubModel, unknownModel } from '../core/huggingface/hub-models';
import { sentence } from '../core/sentence';
import { assumedGpuName } from '../core/plan-request/scenario';
import { noMachine, onMachine, requireSizesOn, type Machine } from '../core/plan-request/machine';
import { parseProfile } from '../core/measured-profile/file';
import { runOfOnnx } from '../profiler/onnx-file/run-of-onnx';
import { usage, type Line } from './command';
import { openNamed } from './named-source';
import { kindOfPath, readNamedFile, readReferenced, type SourceText } from './read-file';
import type { Terminal } from './terminal';

/** How a config is read. */
export interface ReadingOptions {
  /** `key=value` overriding the files. */
  readonly sets: readonly string[];
  /** What flags set for the machine, and the GPU where nothing names one. */
  readonly machine?: Machine;
  readonly shell: () => Promise<LauncherReader>;
  readonly withProfile?: boolean;
  /** Planned with in place of the profile that the files name, which is not read; null: theirs. */
  readonly profile?: NonNullable<Run['profile']> | null;
  /** The model of a launcher's file, from the current folder. */
  readonly model?: string | undefined;
  /** Reads files that others name; left out: from the disk. */
  readonly read?: ReadReferenced;
}

/**
 * Reads a config with what it refers to, `texts` keeping every text for messages.
 * @throws ExpectedError as `loadConfig` and `applyOverrides`.
 */
export async function readConfig(
  { file, text }: SourceText,
  { sets, machine = noMachine, shell, model, read, profile = null, withProfile = true }: ReadingOptions,
  texts: Map<string, string>,
): Promise<LoadedConfig> {
  texts.set(file, text);
  const config = await loadConfig(
    file,
    text,
    { read: referencedInto(texts, read), shell, model: model === undefined ? null : await namedModel(model) },
    { withProfile: withProfile && profile === null },
  );
  const { run } = config;
  if (run === null) return config;
  const asked = asAsked(run, machine, sets);
  return { ...config, run: profile === null ? asked : { ...asked, profile }, fileRun: run };
}

/**
 * A path of the command line, whole: it is of the current folder, not of the config's. Else a model of the hub.
 * @throws ExpectedError `usage`: it is neither.
 */
async function namedModel(model: string): Promise<string> {
  if ((await kindOfPath(model)) !== 'nothing') return path.resolve(model);
  if (hubModel(model) !== null) return model;
  throw usage(sentence`--model ${unknownModel(model)}`, sentence`fix the name, or name the config.json of the model`);
}

/** A run with what the command line sets. @throws ExpectedError as `onMachine` and `applyOverrides`. */
function asAsked(run: Run, machine: Machine, sets: readonly string[]): Run {
  const asked = applyOverrides(onMachine(run, machine, assumedGpuName), sets, assumedGpuName);
  requireSizesOn(asked, machine, assumedGpuName);
  return asked;
}

/**
 * The config that a command line names, or what an ONNX model gives.
 * @param source its text, where it is read already. @param withProfile whether to read the profile that it names.
 * @throws ExpectedError as `readNamedFile`, `readConfig` and `runOfOnnx`.
 */
export async function namedConfig(
  { path: name, sets, machine, profile, model }: Line,
  { shell, signal }: Terminal,
  texts: Map<string, string>,
  { source, withProfile = profile === null }: { readonly source?: SourceText | undefined; readonly withProfile?: boolean } = {},
): Promise<LoadedConfig> {
  if (!isOnnx(name)) return readConfig(source ?? (await openNamed(name, shell)), { sets, machine, shell, model, withProfile }, texts);
  const run = asAsked(await runOfOnnx(name, signal), machine, sets);
  return { format: run.format, launcher: null, reread: null, model: null, run, noRun: null, findings: [] };
}

/** A config whose run exists, so that it can be planned. */
export type RunConfig = LoadedConfig & { readonly run: Run };

/**
 * A config with its run, which is planned with the profile that the command line names. @throws ExpectedError as `requireRun` and
 * `profileOfLine`.
 */
export async function runConfig(config: LoadedConfig, line: Line, texts: Map<string, string>): Promise<RunConfig> {
  const run = requireRun(config);
  const profile = await profileOfLine(line, texts);
  return { ...config, run: profile === null ? run : { ...run, profile } };
}

/** The profile that a command line names, or that it wants none; null: it names none. @throws ExpectedError as `parseProfile`. */
export async function profileOfLine(
  { profile: file }: Pick<Line, 'profile'>,
  texts: Map<string, string>,
): Promise<NonNullable<Run['profile']> | null> {
  if (file === null) return null;
  if (file === 'none') return overridden(null);
  const { text } = await readInto(texts, file);
  return overridden({ file, profile: parseProfile(text, file) });
}

/** An ONNX model: binary, and read in pieces. */
export function isOnnx(name: string): boolean {
  return /\.onnx$/i.test(name);
}

/** Reads a file that the command line names. @throws ExpectedError as `readNamedFile`. */
export async function readInto(texts: Map<string, string>, name: string): Promise<SourceText> {
  const source = await readNamedFile(name);
  texts.set(source.file, source.text);
  return source;
}

/** A reader of files that others name, `texts` keeping every text. */
export function referencedInto(texts: Map<string, string>, read: ReadReferenced = readReferenced): ReadReferenced {
  return async (from, name) => {
    const source = await read(from, name);
    texts.set(source.file, source.text);
    return source;
  };
}
