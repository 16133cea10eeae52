import * as vscode from 'vscode';
import { CancelledError, ExpectedError } from '../../core/errors';
import { runtimeFiles, type WrittenRun } from '../../core/export/torch/folder';
import { remarkLine } from '../../core/launchers/writing/remarks';
import { say, sentence } from '../../core/sentence';
import { existingFiles, readFolder, writeFolder } from '../../files/text-folder';
import { showInformationMessage, showWarningMessage } from '../platform/ui';
import { uriBaseName } from '../sessions/sources';

/**
 * Writes the folder that trains a plan with PyTorch where the user chooses.
 * @param sources of the runtime, a path. @throws ExpectedError `export-not-saved`; CancelledError.
 */
export async function exportTorchRun({ files, gaps }: WrittenRun, config: vscode.Uri, sources: string): Promise<void> {
  const folder = await askRunFolder(config);
  await writeRun(folder, files, sources, true);
  const open = vscode.l10n.t('Open README.md');
  const left = gaps.map((gap) => `${say(remarkLine(gap), vscode.l10n.t)}.`).join(' ');
  const written = vscode.l10n.t('{0} trains this plan: start it with run.sh.', uriBaseName(folder));
  const show = gaps.length === 0 ? showInformationMessage : showWarningMessage;
  void show(`${written} ${left}`.trim(), open).then((answer) => {
    if (answer === open) void vscode.commands.executeCommand('vscode.open', vscode.Uri.joinPath(folder, 'README.md'));
  });
}

/** @throws CancelledError; ExpectedError `export-not-saved` for a folder that is not on this machine. */
export async function askRunFolder(config: vscode.Uri): Promise<vscode.Uri> {
  const picked = await vscode.window.showOpenDialog({
    canSelectFiles: false,
    canSelectFolders: true,
    defaultUri: vscode.Uri.joinPath(config, '..'),
    openLabel: vscode.l10n.t('Write here'),
    title: vscode.l10n.t('Folder for plan.json, train.py and the runtime'),
  });
  const folder = picked?.[0];
  if (folder === undefined) throw new CancelledError();
  if (folder.scheme === 'file') return folder;
  throw new ExpectedError(
    'export-not-saved',
    sentence`${uriBaseName(folder)} is not on this machine's disk`,
    sentence`choose a folder that is`,
  );
}

/**
 * Writes a run with the sources of the runtime.
 * @param asks before files that exist are replaced. @throws ExpectedError `export-not-saved`; CancelledError where they are to stay.
 */
export async function writeRun(folder: vscode.Uri, files: ReadonlyMap<string, string>, sources: string, asks: boolean): Promise<void> {
  const all = new Map([...files, ...(await readFolder(sources, runtimeFiles))]);
  const [first, ...more] = asks ? await existingFiles(folder.fsPath, all) : [];
  if (first !== undefined) {
    const replace = vscode.l10n.t('Replace');
    const question =
      more.length === 0
        ? vscode.l10n.t('{0} already has {1}.', uriBaseName(folder), first)
        : vscode.l10n.t('{0} already has {1} and {2} more of these files.', uriBaseName(folder), first, more.length);
    if ((await showWarningMessage(question, replace)) !== replace) throw new CancelledError();
  }
  await writeFolder(folder.fsPath, all, true);
}
