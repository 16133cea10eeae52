import * as vscode from 'vscode';
import { hubModel } from '../../core/huggingface/hub-models';
import type { KnownModel } from '../../protocol/known-models';
import { planDefaults } from '../platform/settings';
import { newConfigText } from '../sessions/new-config';
import { openSample } from './open-sample';

/** Their names on the hub, and nodes on which they are trained where the settings say none. */
const published: Readonly<Record<Exclude<KnownModel, 'gpt3-175b'>, { readonly name: string; readonly nodes: number }>> = {
  'llama-3-8b': { name: 'meta-llama/Meta-Llama-3-8B', nodes: 2 },
  'llama-3-70b': { name: 'meta-llama/Meta-Llama-3-70B', nodes: 8 },
  'qwen3-32b': { name: 'Qwen/Qwen3-32B', nodes: 4 },
  'deepseek-v3': { name: 'deepseek-ai/DeepSeek-V3', nodes: 64 },
};

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
  await writeNew(vscode.Uri.joinPath(folder, 'config.json'), `${JSON.stringify(JSON.parse(hubModel(name) ?? '{}'), null, 2)}\n`);
  await writeNew(plan, newConfigText('config.json', null, { ...defaults, nodes: defaults.nodes ?? nodes }));
  await vscode.window.showTextDocument(plan, { preview: false });
}

async function writeNew(file: vscode.Uri, text: string): Promise<void> {
  const edit = new vscode.WorkspaceEdit();
  edit.createFile(file, { ignoreIfExists: true, contents: new TextEncoder().encode(text) });
  await vscode.workspace.applyEdit(edit);
}
