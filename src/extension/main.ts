import { setImmediate } from 'node:timers/promises';
import * as vscode from 'vscode';
import { reportBug } from './commands/run-command';

/**
 * Loads what does the work in a turn of its own, so that nothing else which VS Code starts waits for it, and builds it. A failure is shown,
 * since VS Code itself would be silent.
 */
export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const startedMs = performance.now();
  const log = vscode.window.createOutputChannel('TeraPipe', { log: true });
  context.subscriptions.push(log);
  try {
    await setImmediate();
    const [{ build }, { plannerProcess }] = await Promise.all([import('./build'), import('../worker/process')]);
    build(context, log, (bundle) => plannerProcess(context.asAbsolutePath(bundle)));
  } catch (error) {
    reportBug(log, 'activation', error);
    throw error;
  }
  log.debug(`Activated in ${(performance.now() - startedMs).toFixed(1)} ms`);
}
