import * as vscode from 'vscode';
import { changeJson, type JsonChange } from '../../core/formats/terapipe/change-json';
import { ExpectedError } from '../../core/errors';
import type { ControlChange } from '../../protocol/page';
import type { SessionState } from '../sessions/session-state';
import { createConfigCommand } from './create-config';
import type { ConfigCommands } from './target';
import { sentence } from '../../core/sentence';

/**
 * Sets values in a `terapipe.json` as one edit that undo takes back, comments kept. The file stays unsaved when it is open.
 * @throws ExpectedError when the file has a JSON error or cannot be edited.
 */
export async function changeConfig(uri: vscode.Uri, changes: readonly JsonChange[]): Promise<void> {
  const document = await vscode.workspace.openTextDocument(uri);
  const replacement = changeJson(document.getText(), changes);
  if (replacement === null) return;
  const range = new vscode.Range(document.positionAt(replacement.start), document.positionAt(replacement.end));
  const edit = new vscode.WorkspaceEdit();
  edit.replace(uri, range, replacement.newText);
  if (!(await vscode.workspace.applyEdit(edit)))
    throw new ExpectedError('config-unreadable', sentence`terapipe.json cannot be edited`, sentence`check that it is not read-only`);
}

/** A control of the tab's toolbar: writes into the session's `terapipe.json`, which is created first for a bare model config. */
export async function applyControl(commands: ConfigCommands, session: SessionState, { key, value }: ControlChange): Promise<void> {
  const uri = session.format === 'terapipe' ? vscode.Uri.parse(session.file) : await createConfigCommand(commands, session.file);
  await changeConfig(uri, [{ path: key.split('.'), value: value ?? undefined }]);
}
