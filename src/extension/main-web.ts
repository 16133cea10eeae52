import * as vscode from 'vscode';
import { build } from './build';
import { reportBug } from './commands/run-command';
import { startWorkerPlanner } from './platform/worker-planner';

/** Activates in a browser, where an extension is a web worker: one file, no processes, files by `workspace.fs` only. */
export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel('TeraPipe', { log: true });
  context.subscriptions.push(log);
  try {
    const bytes = await vscode.workspace.fs.readFile(vscode.Uri.joinPath(context.extensionUri, 'dist', 'web', 'planner.js'));
    const script = new TextDecoder().decode(bytes);
    build(context, log, () => (options) => startWorkerPlanner(script, options));
  } catch (error) {
    reportBug(log, 'activation', error);
    throw error;
  }
}
