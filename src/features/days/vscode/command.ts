import * as vscode from 'vscode';
import { parseAmount } from '../../../core/amounts';
import { CancelledError, ExpectedError } from '../../../core/errors';
import { say, sentence } from '../../../core/sentence';
import { findTarget, settled, type ConfigCommands } from '../../../extension/commands/target';
import { trainingCost } from '../../../extension/platform/settings';
import { showInputBox } from '../../../extension/platform/ui';
import type { ReportDocuments } from '../../../extension/views/report-documents';
import { daysReport } from '../core/report';
import { runOfPlans } from '../core/run-of-plans';
import { usualFailures, usualRestart, usualStorage } from '../core/whole-run';

export interface DaysCommands extends ConfigCommands {
  readonly reports: ReportDocuments;
}

/**
 * Shows what the whole run of a config's plan takes: days, failures, energy and cost.
 * @param asked tokens of the run; else those of the files, of the settings, or asked for. @returns days and GPU hours, a sentence each.
 * @throws ExpectedError why there is no plan; CancelledError.
 */
export async function daysCommand(commands: DaysCommands, argument: unknown, asked: unknown): Promise<readonly string[]> {
  const { t } = vscode.l10n;
  const file = await findTarget(commands.shown, argument);
  const { plan, error } = await settled(commands, file);
  if (plan === null || error !== null)
    throw error ?? new ExpectedError('no-plan', sentence`There is no plan`, sentence`fix the config first`);
  const settings = trainingCost(vscode.Uri.parse(file));
  const given = typeof asked === 'number' ? asked : (plan.request.training.tokens ?? settings.tokens);
  const { found, fits } = runOfPlans([], plan, given ?? (await askTokens()), {
    failures: usualFailures,
    restartMinutes: usualRestart,
    storage: usualStorage,
    totalStorage: null,
    intervalMinutes: null,
    overhead: 1,
    price: settings.gpuHourPrice,
  });
  const report = daysReport(plan.request.title, found, fits);
  await commands.reports.show(t('The whole run'), file, report);
  return [report.headline, ...(report.blocks[0]?.rows ?? []).map(([name = '', value = '']) => sentence`${name} ${value}`)].map((one) =>
    say(one, t),
  );
}

async function askTokens(): Promise<number> {
  const { t } = vscode.l10n;
  const answer = await showInputBox({
    title: t('The whole run'),
    prompt: t('Tokens that the whole run trains on, as 15T; the setting terapipe.cost.tokens spares this question'),
    ignoreFocusOut: true,
    placeHolder: '15T',
    validateInput: (text) => ((parseAmount(text, 'decimal') ?? 0) > 0 ? null : t('A number of tokens, as 300B or 15T')),
  });
  const tokens = answer === undefined ? null : parseAmount(answer, 'decimal');
  if (tokens === null) throw new CancelledError();
  return tokens;
}
