import * as vscode from 'vscode';

const pending = 'terapipe.openSampleFile';
/** Samples that can be opened by themselves. */
export const samples = ['gpt3-175b'] as const;

/** Has the window that opens a folder of samples next show its first config. */
export async function welcomeNextWindow(context: vscode.ExtensionContext, folder: vscode.Uri): Promise<void> {
  await context.globalState.update(pending, folder.toString());
}

/** In the window that was opened on a folder of samples: shows the first config and its schedule, once. */
export async function welcomeToSample(context: vscode.ExtensionContext): Promise<void> {
  const target = context.globalState.get<unknown>(pending);
  const folder = vscode.workspace.workspaceFolders?.find(({ uri }) => uri.toString() === target);
  if (folder === undefined) return;
  await context.globalState.update(pending, undefined);
  await openFirstFile(folder.uri);
}

/** Opens the first config of a folder of samples, and the schedule. */
export async function openFirstFile(folder: vscode.Uri): Promise<void> {
  await vscode.window.showTextDocument(vscode.Uri.joinPath(folder, samples[0], 'terapipe.json'), { preview: false });
  await vscode.commands.executeCommand('terapipe.schedule.focus');
}
