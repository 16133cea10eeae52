import path from 'node:path';
import { configError } from '../core/errors';
import { hubModel } from '../core/huggingface/hub-models';
import { fileStart } from '../core/languages/json/document';
import type { LauncherReader } from '../core/run/facts';
import { loadConfig } from '../core/config-files/load-config';
import { orList, printable, quoted } from '../core/text';
import { sentence } from '../core/sentence';
import { kindOfPath, readNamedFile, readReferenced, type SourceText } from './read-file';
import { configsUnder, isScheduleFile } from './walk';

/** Configs of a folder that an error names. */
const shownConfigs = 8;
/** Most configs of a folder that are read to see which of them draws on which. */
const mostRead = 64;

/**
 * The config that a command line names: a file, standard input (`-`), a folder with one config, or a model of Hugging Face's hub whose
 * sizes are known here (`meta-llama/Llama-3.1-70B`). A path that exists goes first.
 * @throws ExpectedError as `readNamedFile`; `config-several` and `config-not-found` for a folder without exactly one config.
 */
export async function openNamed(name: string, shell: () => Promise<LauncherReader>): Promise<SourceText> {
  if (name === '-') return readNamedFile(name);
  const kind = await kindOfPath(name);
  if (kind === 'folder') return configIn(name, shell);
  if (kind === 'file' || !hubId.test(name)) return readNamedFile(name);
  const text = hubModel(name);
  if (text !== null) return { file: `${name}/config.json`, text };
  throw configError(
    'config-not-found',
    sentence`${printable(name)} does not exist, and no model of Hugging Face's hub by that name has its sizes here`,
    sentence`fix the path, or name the config.json of the model`,
    fileStart(name),
  );
}

/** `owner/model`. */
const hubId = /^[\w-][\w.-]*\/[\w-][\w.-]*$/;

/** The one config of a folder that no other of its configs draws on; those in the folder itself go before those deeper. */
async function configIn(folder: string, shell: () => Promise<LauncherReader>): Promise<SourceText> {
  const configs = (await configsUnder(folder)).configs.filter((source) => !isScheduleFile(source));
  const own = configs.filter(({ file }) => path.dirname(file) === path.normalize(folder).replace(/(?<=.)[\\/]$/, ''));
  const candidates = own.length > 0 ? own : configs;
  const drawn = candidates.length > 1 ? await drawnOn(candidates.slice(0, mostRead), shell) : new Set<string>();
  const [only, ...others] = candidates.filter(({ file }) => !drawn.has(path.normalize(file)));
  const name = printable(folder);
  if (only === undefined)
    throw configError('config-not-found', sentence`No config is in the folder ${name}`, sentence`name the config`, fileStart(folder));
  if (others.length === 0) return only;
  const names = [only, ...others].map(({ file }) => quoted(path.relative(folder, file)));
  const more = names.length > shownConfigs ? [`${names.length - shownConfigs} more`] : [];
  throw configError(
    'config-several',
    sentence`The folder ${name} has ${names.length} configs`,
    sentence`name one of ${orList([...names.slice(0, shownConfigs), ...more])}`,
    fileStart(folder),
  );
}

/** The files that configs draw on: the model of a launcher's file is not a config of its own. */
async function drawnOn(configs: readonly SourceText[], shell: () => Promise<LauncherReader>): Promise<Set<string>> {
  const drawn = new Set<string>();
  for (const { file, text } of configs) {
    const files = await loadConfig(file, text, { read: readReferenced, shell }, { withProfile: false }).then(
      ({ run }) => run?.files ?? [],
      () => [],
    );
    for (const other of files) if (path.normalize(other) !== path.normalize(file)) drawn.add(path.normalize(other));
  }
  return drawn;
}
