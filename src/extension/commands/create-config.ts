import * as vscode from 'vscode';
import { ExpectedError } from '../../core/errors';
import { lookAt } from '../find-configs';
import { newConfigText } from '../new-config';
import { planDefaults } from '../settings';
import { nameOf } from '../sources';
import { uriOf, type ConfigCommands } from './target';

/**
 * Writes a `terapipe.json` beside a model config and opens it; one that is there already is opened as it is.
 * @returns its URI.
 * @throws ExpectedError `no-config` without a model config, `config-unreadable` when the folder cannot be written.
 */
export async function createConfigCommand(commands: ConfigCommands, argument: unknown): Promise<vscode.Uri> {
  const model = await modelConfigOf(commands, argument);
  const target = vscode.Uri.joinPath(model, '..', 'terapipe.json');
  if (!(await exists(target))) await write(commands, model, target);
  await vscode.window.showTextDocument(target, { preview: false });
  return target;
}

async function modelConfigOf({ shown, sessions }: ConfigCommands, argument: unknown): Promise<vscode.Uri> {
  const shownFile = shown.file();
  const uri = uriOf(argument) ?? vscode.window.activeTextEditor?.document.uri ?? null;
  if (uri !== null && (await lookAt(uri))?.format === 'huggingface') return uri;
  if (shownFile !== null && sessions.get(shownFile)?.format === 'huggingface') return vscode.Uri.parse(shownFile);
  throw new ExpectedError('no-config', 'This is no model config', "open a model's config.json first");
}

async function write({ sessions, log }: ConfigCommands, model: vscode.Uri, target: vscode.Uri): Promise<void> {
  const defaults = planDefaults(model, log);
  const text = newConfigText(nameOf(model), sessions.get(model.toString())?.run?.model ?? null, defaults);
  const edit = new vscode.WorkspaceEdit();
  edit.createFile(target, { contents: new TextEncoder().encode(text) });
  if (!(await vscode.workspace.applyEdit(edit)))
    throw new ExpectedError('config-unreadable', 'terapipe.json cannot be written there', 'check the permissions of the folder');
}

async function exists(uri: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(uri);
    return true;
  } catch {
    return false;
  }
}
