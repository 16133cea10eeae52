import * as vscode from 'vscode';
import { CancelledError } from '../../../core/errors';
import { formatCount } from '../../../core/format';
import { isRecord } from '../../../core/records';
import { datasetNames, datasets, mostEpochs, usualEpochs } from '../../../core/run/elastic';
import { changeConfig } from '../../../extension/commands/change-config';
import { createConfigCommand } from '../../../extension/commands/create-config';
import { findTarget, type ConfigCommands } from '../../../extension/commands/target';
import { showInputBox, showQuickPick } from '../../../extension/platform/ui';
import type { TimelinePanels } from '../../../extension/views/timeline-panels';

interface ElasticCommands extends ConfigCommands {
  readonly panels: TimelinePanels;
}

interface AskedRun {
  readonly dataset: string;
  readonly epochs: number;
}

/**
 * Makes a config a run that freezes layers, and opens its Elastic tab: writes `elastic` into the shown `terapipe.json`, which is created
 * first next to another config. One that has the section already is only opened.
 * @param asked `{ dataset, epochs }`; asked for where it is left out. @throws ExpectedError as `changeConfig`; CancelledError.
 */
export async function beginElasticCommand(commands: ElasticCommands, argument: unknown, asked?: unknown): Promise<void> {
  const file = await findTarget(commands.shown, argument);
  const { format, run } = commands.sessions.get(file) ?? {};
  const isTerapipe = format === 'terapipe';
  const begun = isTerapipe && run?.elastic !== undefined;
  const { dataset, epochs } = begun ? { dataset: '', epochs: 0 } : (readAsked(asked) ?? (await askedFor()));
  const config = isTerapipe ? vscode.Uri.parse(file) : await createConfigCommand(commands, file);
  if (!begun)
    await changeConfig(config, [
      { path: ['elastic', 'dataset'], value: dataset },
      { path: ['elastic', 'epochs'], value: epochs },
    ]);
  commands.panels.open(config.toString(), { tab: 'elastic', candidate: null });
}

function readAsked(asked: unknown): AskedRun | null {
  if (!isRecord(asked)) return null;
  const { dataset, epochs } = asked;
  return datasetNames.some((name) => name === dataset) && isEpochs(epochs) ? { dataset: String(dataset), epochs } : null;
}

function isEpochs(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= mostEpochs;
}

async function askedFor(): Promise<AskedRun> {
  const title = vscode.l10n.t('Begin an elastic run');
  const items = datasetNames.map((name) => ({
    label: name,
    description: vscode.l10n.t('{0} samples', formatCount(datasets[name].training)),
  }));
  const picked = await showQuickPick(items, {
    title,
    placeHolder: vscode.l10n.t('Data set (for another, set elastic.datasetSize in the file)'),
  });
  if (picked === undefined) throw new CancelledError();
  const epochs = await showInputBox({
    title,
    prompt: vscode.l10n.t('Epochs'),
    value: String(usualEpochs),
    validateInput: (text) => (isEpochs(Number(text)) ? null : vscode.l10n.t('A whole number from 1 to {0}', formatCount(mostEpochs))),
  });
  if (epochs === undefined) throw new CancelledError();
  return { dataset: picked.label, epochs: Number(epochs) };
}
