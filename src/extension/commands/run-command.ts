import * as vscode from 'vscode';
import { CancelledError, ExpectedError } from '../../core/errors';
import { showErrorMessage, showWarningMessage } from '../platform/ui';
import { say } from '../../core/sentence';

/**
 * Runs one thing a user asked for. Cancelled: silent. Expected: one message with what to do. A bug: the stack in the log, a short
 * message that leads there.
 * @returns what `action` resolves to, undefined after a failure.
 */
export async function runCommand<T>(log: vscode.LogOutputChannel, name: string, action: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof CancelledError || error instanceof vscode.CancellationError) return undefined;
    if (error instanceof ExpectedError) {
      log.info(`${name}: ${error.code}: ${error.message}; ${say(error.remedy)}`);
      void showWarningMessage(`${say(error.what, vscode.l10n.t)}; ${say(error.remedy, vscode.l10n.t)}.`);
      return undefined;
    }
    reportBug(log, name, error);
    return undefined;
  }
}

/** Logs a bug with its stack and shows one short message with a way to the log. */
export function reportBug(log: vscode.LogOutputChannel, name: string, error: unknown): void {
  log.error(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  const showLog = vscode.l10n.t('Show log');
  void showErrorMessage(vscode.l10n.t('TeraPipe: something went wrong. The log has the details.'), showLog).then((answer) => {
    if (answer === showLog) log.show();
  });
}
