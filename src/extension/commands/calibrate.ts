import * as vscode from 'vscode';
import { CancelledError } from '../../core/errors';
import { formatDuration, parseDuration } from '../../core/format';
import { chosenOf } from '../../core/planner/plan';
import { showInputBox } from '../platform/ui';
import { changeConfig } from './change-config';
import { createConfigCommand } from './create-config';
import { settled, targetOf, type ConfigCommands } from './target';

/**
 * Asks for the time of a measured step and writes it into `terapipe.json`, which is created first for other configs: plans then correct
 * the constants of the machine by it. An empty answer takes it out again; steps of other runs stay.
 */
export async function calibrateCommand(commands: ConfigCommands, argument: unknown): Promise<void> {
  const state = await settled(commands, await targetOf(commands.shown, argument));
  const plan = state.plan;
  const calibration = plan?.request.calibration;
  const known = calibration?.iterationMs ?? null;
  const answer = await showInputBox({
    title: vscode.l10n.t('Calibrate to a measured step'),
    value: known === null ? '' : `${known} ms`,
    ignoreFocusOut: true,
    placeHolder: '9.2 s',
    prompt:
      plan === null
        ? vscode.l10n.t('Time of one step of this very run, as 9.2 s or 870 ms. Empty: none.')
        : vscode.l10n.t(
            'Time of one step of this very run, as 9.2 s or 870 ms; predicted {0}. Empty: none.',
            formatDuration(calibration?.predictedMs ?? chosenOf(plan).iterationMs),
          ),
    validateInput: (text) => (text.trim() === '' || parseDuration(text) !== null ? null : vscode.l10n.t('A time, as 9.2 s or 870 ms')),
  });
  if (answer === undefined) throw new CancelledError();
  const uri = state.format === 'terapipe' ? vscode.Uri.parse(state.file) : await createConfigCommand(commands, state.file);
  const ms = parseDuration(answer);
  const hasSteps = (calibration?.steps.length ?? 0) > 0;
  const path = ms === null && !hasSteps ? ['calibration'] : ['calibration', 'iterationMs'];
  await changeConfig(uri, [{ path, value: ms ?? undefined }]);
}
