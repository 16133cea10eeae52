import { mkdir } from 'node:fs/promises';
import * as vscode from 'vscode';
import { CancelledError } from '../../core/errors';
import { hubModel } from '../../core/huggingface/hub-models';
import { notWritten, systemCode } from '../../files/system-reason';
import { writeWhole } from '../../files/write-whole';
import { knownModelNames, knownModels, type KnownModel } from '../../protocol/known-models';
import { planDefaults } from '../platform/settings';
import { showQuickPick } from '../platform/ui';
import { newConfigText } from '../../host/sessions/new-config';
import { uriBaseName } from '../sessions/sources';
import { openFirstFile, samples, welcomeNextWindow } from './sample-window';
import { createFile } from './create-config';
import { toUri } from './target';

/**
 * Copies the sample workspace to a folder and opens it. With a folder (URI or path) as argument nothing is asked; else the extension's own
 * storage or a folder of the user's choice. Files that exist already are kept. An open workspace keeps its window, except in a browser,
 * which blocks new ones. With the name of a sample as argument only that one is opened, in this window.
 */
export async function openSampleCommand(context: vscode.ExtensionContext, argument: unknown): Promise<void> {
  if (argument === samples[0]) {
    await openSample(context, argument);
    return;
  }
  const target = toUri(argument) ?? (await askFolder(context.globalStorageUri));
  await copyMissing(vscode.Uri.joinPath(context.extensionUri, 'media', 'samples'), target);
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (folders.some(({ uri }) => uri.toString() === target.toString())) {
    await openFirstFile(target);
    return;
  }
  await welcomeNextWindow(context, target);
  const newWindow = folders.length > 0 && vscode.env.uiKind === vscode.UIKind.Desktop;
  await vscode.commands.executeCommand('vscode.openFolder', target, { forceNewWindow: newWindow, forceReuseWindow: !newWindow });
}

/** Opens one sample in this window, from a copy in the extension's own storage: nothing is asked, and no other folder is opened. */
async function openSample(context: vscode.ExtensionContext, sample: (typeof samples)[number]): Promise<void> {
  const target = vscode.Uri.joinPath(context.globalStorageUri, 'samples');
  await copyMissing(vscode.Uri.joinPath(context.extensionUri, 'media', 'samples', sample), vscode.Uri.joinPath(target, sample));
  await openFirstFile(target);
}

async function askFolder(storage: vscode.Uri): Promise<vscode.Uri> {
  const own: vscode.QuickPickItem = { label: vscode.l10n.t("In TeraPipe's own storage"), description: vscode.l10n.t('nothing to choose') };
  const chosen: vscode.QuickPickItem = { label: vscode.l10n.t('In a folder that I choose…') };
  const pick = await showQuickPick([own, chosen], {
    title: vscode.l10n.t('Open the sample workspace'),
    placeHolder: vscode.l10n.t('Where should its files go?'),
    ignoreFocusOut: true,
  });
  if (pick === own) return vscode.Uri.joinPath(storage, 'samples');
  if (pick === undefined) throw new CancelledError();
  const picked = await vscode.window.showOpenDialog({
    canSelectFiles: false,
    canSelectFolders: true,
    openLabel: vscode.l10n.t('Copy the sample here'),
  });
  const folder = picked?.[0];
  if (folder === undefined) throw new CancelledError();
  return vscode.Uri.joinPath(folder, 'terapipe-samples');
}

/** Copies a folder tree file by file; what exists at the target stays as it is. */
async function copyMissing(from: vscode.Uri, to: vscode.Uri): Promise<void> {
  await makeFolder(to);
  for (const [name, type] of await vscode.workspace.fs.readDirectory(from)) {
    const [source, target] = [vscode.Uri.joinPath(from, name), vscode.Uri.joinPath(to, name)];
    if ((type & vscode.FileType.Directory) !== 0) await copyMissing(source, target);
    else await copyIfMissing(source, target);
  }
}

async function makeFolder(folder: vscode.Uri): Promise<void> {
  try {
    if (folder.scheme === 'file') await mkdir(folder.fsPath, { recursive: true });
    else await vscode.workspace.fs.createDirectory(folder);
  } catch (error) {
    throw notWritten('export-not-saved', uriBaseName(folder), error);
  }
}

async function copyIfMissing(source: vscode.Uri, target: vscode.Uri): Promise<void> {
  try {
    // A copy that VS Code breaks off stays half written, and would be kept the next time.
    if (target.scheme === 'file') await writeWhole(target.fsPath, await vscode.workspace.fs.readFile(source), { replace: false });
    else await vscode.workspace.fs.copy(source, target, { overwrite: false });
  } catch (error) {
    const exists = error instanceof vscode.FileSystemError ? error.code === 'FileExists' : systemCode(error) === 'EEXIST';
    if (!exists) throw notWritten('export-not-saved', uriBaseName(target), error);
  }
}

/** Names of the other known models on the hub, and nodes on which they are trained where the settings say none. */
const published: Readonly<Record<Exclude<KnownModel, 'gpt3-175b'>, { readonly name: string; readonly nodes: number }>> = {
  'llama-3-8b': { name: 'meta-llama/Meta-Llama-3-8B', nodes: 2 },
  'llama-3-70b': { name: 'meta-llama/Meta-Llama-3-70B', nodes: 8 },
  'qwen3-32b': { name: 'Qwen/Qwen3-32B', nodes: 4 },
  'deepseek-v3': { name: 'deepseek-ai/DeepSeek-V3', nodes: 64 },
};

/** As `startModel`; without the id of a known model it is asked for. */
export async function startModelCommand(
  { context, log }: { readonly context: vscode.ExtensionContext; readonly log: vscode.LogOutputChannel },
  model?: unknown,
): Promise<void> {
  const named = knownModels.find((each) => each === model);
  const items = knownModels.map((each) => ({ label: knownModelNames[each], model: each }));
  const picked =
    named === undefined
      ? await showQuickPick(items, { title: vscode.l10n.t('Start with a known model'), placeHolder: vscode.l10n.t('Model') })
      : { model: named };
  if (picked === undefined) throw new CancelledError();
  await startModel(context, log, picked.model);
}

/**
 * Opens a first plan of a known model: its sizes and a `terapipe.json` in a folder of its own in the workspace, else in the extension's
 * storage. What exists already is kept.
 */
export async function startModel(context: vscode.ExtensionContext, log: vscode.LogOutputChannel, model: KnownModel): Promise<void> {
  if (model === 'gpt3-175b') {
    await openSample(context, model);
    return;
  }
  const [workspace] = vscode.workspace.workspaceFolders ?? [];
  const folder = vscode.Uri.joinPath(workspace?.uri ?? vscode.Uri.joinPath(context.globalStorageUri, 'models'), model);
  const plan = vscode.Uri.joinPath(folder, 'terapipe.json');
  const { name, nodes } = published[model];
  const defaults = planDefaults(plan, log);
  await createFile(vscode.Uri.joinPath(folder, 'config.json'), `${JSON.stringify(JSON.parse(hubModel(name) ?? '{}'), null, 2)}\n`);
  await createFile(plan, newConfigText('config.json', null, { ...defaults, nodes: defaults.nodes ?? nodes }));
  await vscode.window.showTextDocument(plan, { preview: false });
}
