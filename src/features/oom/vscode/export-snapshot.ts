import * as vscode from 'vscode';
import { ExpectedError } from '../../../core/errors';
import { sentence } from '../../../core/sentence';
import { saveText } from '../../../extension/commands/save';
import { findTarget, settled, type ConfigCommands } from '../../../extension/commands/target';
import { predictedSnapshot } from '../core/predicted-snapshot';

/**
 * Saves the memory of a config's plan as a snapshot that PyTorch's memory viewer shows, as `--write-snapshot` of the terminal does.
 * @throws ExpectedError `no-plan`, and as `predictedSnapshot` and `saveText`; CancelledError.
 */
export async function exportSnapshotCommand(commands: ConfigCommands, argument: unknown): Promise<void> {
  const file = await findTarget(commands.shown, argument);
  const { plan, error } = await settled(commands, file);
  if (plan === null || error !== null)
    throw error ?? new ExpectedError('no-plan', sentence`There is no plan yet`, sentence`wait for planning to end, then export again`);
  await saveText(vscode.Uri.parse(file), `${plan.request.title} memory.pickle`, { Pickle: ['pickle'] }, predictedSnapshot(plan));
}
