import { ExpectedError } from '../core/errors';
import { sentence } from '../core/sentence';
import { changeJson, type JsonChange } from '../core/terapipe/change-json';
import { fileName } from '../host/file-name';
import { newConfigText } from '../host/sessions/new-config';
import type { SessionFormat, SessionState } from '../host/sessions/session-state';
import type { ConfigSet } from '../host/sessions/written-sizes';
import { defaults } from './defaults';
import { displayPath, type WebFiles } from './files';

interface ConfigContext {
  readonly files: WebFiles;
  /** Shows another of the open files. */
  readonly show: (file: string, format: SessionFormat) => void;
  readonly say: (text: string) => void;
}

/**
 * Sets values in the shown terapipe.json, as one edit; next to another config one is made first, and shown, so that a link carries it.
 * @returns its URI. @throws ExpectedError `config-nothing-known` for a launcher that sets nothing.
 */
export async function setInConfig(context: ConfigContext, state: SessionState, changes: readonly JsonChange[]): Promise<string> {
  const { files } = context;
  const file = state.format === 'terapipe' ? state.file : configNextTo(files, state.file);
  const isNew = !files.all().has(file);
  if (isNew) files.put(file, await newText(state, file));
  const replacement = changeJson(files.read(file), changes);
  if (replacement !== null) {
    const { newText: text, ...range } = replacement;
    files.edit([{ place: { file, range }, newText: text }]);
  }
  if (file !== state.file) context.show(file, 'terapipe');
  if (isNew) context.say(`Written into ${displayPath(file)}, a new file.`);
  return file;
}

/** Sets as changes of a terapipe.json. */
export function toChanges(sets: readonly ConfigSet[]): readonly JsonChange[] {
  return sets.map(([key, value]) => ({ path: key.split('.'), value: value ?? undefined }));
}

/** The terapipe.json next to a config; for a launcher, next to one that is of something else, `train.terapipe.json`. */
function configNextTo(files: WebFiles, file: string): string {
  const usual = new URL('terapipe.json', file).href;
  return files.all().has(usual) ? new URL(`${fileName(file).replace(/(?<=.)\.\w+$/, '')}.terapipe.json`, file).href : usual;
}

async function newText(state: SessionState, target: string): Promise<string> {
  const name = fileName(state.file);
  if (state.launcher === null) return newConfigText(name, state.run, defaults);
  const { newLauncherConfigText } = await import('../host/sessions/new-launcher-config');
  const text = newLauncherConfigText(state, target, defaults);
  if (text !== null) return text;
  throw new ExpectedError(
    'config-nothing-known',
    sentence`${name} has no sizes of the model, the layout or the training`,
    sentence`open the config.json of the model instead`,
  );
}
