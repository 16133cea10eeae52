import * as vscode from 'vscode';
import { ExpectedError } from '../../core/errors';
import { isLauncher } from '../../core/launchers/registry';
import { lookAt, type FoundConfig } from '../sessions/find-configs';
import { newConfigText } from '../../host/sessions/new-config';
import { newLauncherConfigText, originComment } from '../../host/sessions/new-launcher-config';
import { planDefaults } from '../platform/settings';
import { sessionConfigFormat } from '../sessions/shown-config';
import { uriBaseName, readText } from '../sessions/sources';
import { activeUri, toUri, type ConfigCommands } from './target';
import { sentence } from '../../core/sentence';

const planFile = 'terapipe.json';

/**
 * Writes a `terapipe.json` next to a model config or a launcher and opens it; an existing one is opened unchanged. Next to a launcher, one
 * that was not made from it is left unchanged, and the new one is called after the launcher: `train.terapipe.json`.
 * @returns its URI.
 * @throws ExpectedError `no-config` without such a config, `config-nothing-known` for a launcher that sets nothing, `config-unreadable`
 * when the folder cannot be written.
 */
export async function createConfigCommand(commands: ConfigCommands, argument: unknown): Promise<vscode.Uri> {
  const config = await findSourceConfig(commands, argument);
  const target = await newConfigTarget(config);
  if (!(await exists(target))) await createFile(target, await newConfigContent(commands, config, target));
  await vscode.window.showTextDocument(target, { preview: false });
  return target;
}

/** The model config or launcher that the command is for. */
async function findSourceConfig({ shown, sessions }: ConfigCommands, argument: unknown): Promise<FoundConfig> {
  const uri = toUri(argument) ?? activeUri();
  const found = uri === null ? null : await lookAt(uri);
  if (found !== null && isSource(found)) return found;
  const shownFile = shown.file();
  const format = shownFile === null ? null : sessionConfigFormat(sessions.get(shownFile));
  if (shownFile !== null && format !== null && isSource({ format })) return { file: shownFile, format };
  throw new ExpectedError(
    'no-config',
    sentence`This is neither a model config nor a launcher`,
    sentence`open a model's config.json or a launcher first`,
  );
}

function isSource({ format }: Pick<FoundConfig, 'format'>): boolean {
  return format === 'huggingface' || isLauncher(format);
}

async function newConfigTarget({ file, format }: FoundConfig): Promise<vscode.Uri> {
  const uri = vscode.Uri.parse(file);
  const usual = vscode.Uri.joinPath(uri, '..', planFile);
  if (!isLauncher(format) || !(await exists(usual)) || (await readText(usual.toString())).startsWith(originComment({ file }))) return usual;
  return vscode.Uri.joinPath(uri, '..', `${uriBaseName(uri).replace(/(?<=.)\.\w+$/, '')}.${planFile}`);
}

async function newConfigContent({ sessions, log }: ConfigCommands, { file, format }: FoundConfig, target: vscode.Uri): Promise<string> {
  const uri = vscode.Uri.parse(file);
  const defaults = planDefaults(uri, log);
  if (!isLauncher(format)) return newConfigText(uriBaseName(uri), sessions.get(file)?.run ?? null, defaults);
  const known = sessions.get(file);
  const state = known === undefined || known.launcher === null ? await sessions.ensure(file, format) : known;
  if (state.launcher === null && state.error !== null) throw state.error;
  const text = newLauncherConfigText(state, target.toString(), defaults);
  if (text !== null) return text;
  throw new ExpectedError(
    'config-nothing-known',
    sentence`${uriBaseName(uri)} has no sizes of the model, the layout or the training`,
    sentence`create a terapipe.json from the config.json of the model instead`,
  );
}

/** Creates a file; one that exists stays as it is. @throws ExpectedError `export-not-saved` where nothing can be written. */
export async function createFile(target: vscode.Uri, text: string): Promise<void> {
  const edit = new vscode.WorkspaceEdit();
  edit.createFile(target, { ignoreIfExists: true, contents: new TextEncoder().encode(text) });
  if (!(await vscode.workspace.applyEdit(edit)))
    throw new ExpectedError(
      'export-not-saved',
      sentence`${uriBaseName(target)} cannot be written there`,
      sentence`check the permissions of the folder`,
    );
}

async function exists(uri: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(uri);
    return true;
  } catch {
    return false;
  }
}
