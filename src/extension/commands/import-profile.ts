import * as vscode from 'vscode';
import { gpuPresetNames } from '../../core/cluster/presets';
import { CancelledError, ExpectedError } from '../../core/errors';
import { importTimes, importedFor } from '../../core/measured-profile/csv';
import { writeProfile } from '../../profiler/store';
import { readText } from '../sessions/sources';
import { showInputBox, showQuickPick } from '../platform/ui';
import type { ProfileCommands } from './profile';
import { settled, findTarget } from './target';
import { sentence } from '../../core/sentence';

/**
 * Takes slice times that were measured elsewhere (from PyTorch, say) as a profile of a config's layer: a CSV with tokens, context,
 * forward_ms and backward_ms.
 * @throws ExpectedError as `importTimes`, placed in the CSV; CancelledError.
 */
export async function importProfileCommand({ panels, profiles, ...commands }: ProfileCommands, argument: unknown): Promise<void> {
  const file = await findTarget(commands.shown, argument);
  const { plan, error } = await settled(commands, file);
  if (plan === null)
    throw error ?? new ExpectedError('no-plan', sentence`There is no plan to import times for`, sentence`fix the config first`);
  const target = profiles.profileFolder(file);
  const [csv] =
    (await vscode.window.showOpenDialog({
      title: vscode.l10n.t('Slice times: tokens, context, forward_ms, backward_ms'),
      filters: { CSV: ['csv', 'tsv', 'txt'] },
      defaultUri: vscode.Uri.joinPath(vscode.Uri.parse(file), '..'),
    })) ?? [];
  if (csv === undefined) throw new CancelledError();
  const device = await askDevice(plan.request.cluster.gpu.name);
  const now = new Date().toISOString();
  const profile = importTimes(await readText(csv.toString()), csv.toString(), importedFor(plan.request, device, now));
  await writeProfile(target, profile);
  await profiles.refresh(file);
  panels.open(file, { tab: 'profile', candidate: null });
}

async function askDevice(planned: string): Promise<string> {
  const names = [planned, ...gpuPresetNames.filter((name) => name !== planned)];
  const other = vscode.l10n.t('Another device');
  const picked = await showQuickPick(
    [...names, other].map((label) => ({ label })),
    { title: vscode.l10n.t('The device that the times were measured on') },
  );
  if (picked === undefined) throw new CancelledError();
  if (picked.label !== other) return picked.label;
  const named = await showInputBox({ title: vscode.l10n.t('Name of the device, as its driver reports it') });
  if (named === undefined || named.trim() === '') throw new CancelledError();
  return named.trim();
}
