import * as vscode from 'vscode';
import type { TimesComparison } from '../core/against-times';
import { differenceSentences, logSentences, readSentence, type LogComparison } from '../core/against-log';
import { canPlanAsLogged, otherRunError, settingsOfLog } from '../core/log-calibration';
import { CancelledError, ExpectedError } from '../../../core/errors';
import { formatDuration, parseDuration } from '../../../core/format';
import { fileStart } from '../../../core/languages/json/document';
import type { JsonChange } from '../../../core/terapipe/change-json';
import { chosenCandidate, type Plan } from '../../../core/planner/plan';
import { say, sentence } from '../../../core/sentence';
import { showInformationMessage, showInputBox, showQuickPick, showWarningMessage, withProgress } from '../../../extension/platform/ui';
import type { ComparisonHost } from '../host/comparison-host';
import type { SessionState } from '../../../host/sessions/session-state';
import { changeConfig } from '../../../extension/commands/change-config';
import { createConfigCommand } from '../../../extension/commands/create-config';
import { settled, findTarget, toUri, type ConfigCommands } from '../../../extension/commands/target';

export interface CalibrateCommands extends ConfigCommands {
  readonly measured: Pick<ComparisonHost, 'compare' | 'localPath'>;
}

/**
 * Writes a measured step into `terapipe.json`, which is created first for other configs: plans then correct the constants of the machine by
 * it. It is a time that is asked for, none to take it out again, or the steady step of a log or of a file of times.
 * @param measured the file (URI or path); asked for otherwise.
 * @throws ExpectedError `no-plan`, `times-empty`, `measured-other-run` for the log of another run; CancelledError.
 */
export async function calibrateCommand(commands: CalibrateCommands, argument: unknown, measured: unknown): Promise<void> {
  const state = await settled(commands, await findTarget(commands.shown, argument));
  const file = toUri(measured) ?? (await askWhere(state.file));
  const changes = file === null ? await askTime(state) : await changesOfFile(commands, state, file);
  const uri = state.format === 'terapipe' ? vscode.Uri.parse(state.file) : await createConfigCommand(commands, state.file);
  await changeConfig(uri, changes);
}

/** A file to read the step from; null: its time is typed. */
async function askWhere(file: string): Promise<vscode.Uri | null> {
  const typed = { label: vscode.l10n.t('Type the time of a step'), iconPath: new vscode.ThemeIcon('edit'), isFile: false };
  const read = {
    label: vscode.l10n.t('Read it from a log or step times…'),
    description: vscode.l10n.t('a log of Megatron-LM, TorchTitan, DeepSpeed or the Trainer; a CSV or JSON of times'),
    iconPath: new vscode.ThemeIcon('folder-opened'),
    isFile: true,
  };
  const picked = await showQuickPick([typed, read], { title: vscode.l10n.t('Calibrate to a measured step') });
  if (picked === undefined) throw new CancelledError();
  if (!picked.isFile) return null;
  const [uri] =
    (await vscode.window.showOpenDialog({
      title: vscode.l10n.t('Calibrate to a measured step'),
      openLabel: vscode.l10n.t('Calibrate'),
      defaultUri: vscode.Uri.joinPath(vscode.Uri.parse(file), '..'),
    })) ?? [];
  if (uri === undefined) throw new CancelledError();
  return uri;
}

async function askTime({ plan }: SessionState): Promise<readonly JsonChange[]> {
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
            formatDuration(calibration?.predictedMs ?? chosenCandidate(plan).iterationMs),
          ),
    validateInput: (text) => (text.trim() === '' || parseDuration(text) !== null ? null : vscode.l10n.t('A time, as 9.2 s or 870 ms')),
  });
  if (answer === undefined) throw new CancelledError();
  const ms = parseDuration(answer);
  const hasSteps = (calibration?.steps.length ?? 0) > 0;
  return [{ path: ms === null && !hasSteps ? ['calibration'] : ['calibration', 'iterationMs'], value: ms ?? undefined }];
}

async function changesOfFile(commands: CalibrateCommands, state: SessionState, uri: vscode.Uri): Promise<readonly JsonChange[]> {
  const { plan } = state;
  if (plan === null)
    throw (
      state.error ??
      new ExpectedError('no-plan', sentence`There is nothing to calibrate: the config has no plan`, sentence`fix the config first`)
    );
  const { log, steady } = await readSteps(commands, plan, uri);
  if (log === null) return [ownStep(steady.medianMs)];
  if (log.match === 'same') {
    const read = say(readSentence(log, steady), vscode.l10n.t);
    const found = logSentences(log).map((one) => say(one, vscode.l10n.t));
    void showInformationMessage([`${read}.`, ...found].join(' '));
    return [ownStep(steady.medianMs)];
  }
  return changesOfOther(state, plan, { log, ms: steady.medianMs }, uri);
}

async function readSteps(
  { measured }: CalibrateCommands,
  plan: Plan,
  uri: vscode.Uri,
): Promise<TimesComparison & { readonly steady: NonNullable<TimesComparison['steady']> }> {
  const against = { kind: 'measured', path: measured.localPath(uri.toString()), file: uri.toString() } as const;
  const compared = await withProgress(vscode.l10n.t('Reading the measured run.'), (_, token) => {
    const controller = new AbortController();
    token.onCancellationRequested(() => controller.abort());
    return measured.compare(plan, against, { signal: controller.signal });
  });
  if (compared.kind === 'times' && compared.steady !== null) return { ...compared, steady: compared.steady };
  throw new ExpectedError(
    'times-empty',
    sentence`The file has no step times`,
    sentence`give step times in ms, one a line, or a training log`,
    fileStart(uri.toString()),
  );
}

/** Differences are shown, and nothing is written without an answer. */
async function changesOfOther(
  { run }: SessionState,
  { request }: Plan,
  { log, ms }: { readonly log: LogComparison; readonly ms: number },
  uri: vscode.Uri,
): Promise<readonly JsonChange[]> {
  const { differences, match } = log;
  const set = settingsOfLog(differences, request);
  const takeSizes = vscode.l10n.t('Plan the run of the log');
  const takeStep = vscode.l10n.t('Use as a step of another run');
  const answers = [...(canPlanAsLogged(log, request) ? [takeSizes] : []), ...(match === 'replicas' ? [takeStep] : [])];
  if (answers.length === 0) throw otherRunError(log, uri.toString());
  const text = differenceSentences(log).map((one) => say(one, vscode.l10n.t));
  const answer = await showWarningMessage(text.join(' '), ...answers);
  if (answer === takeSizes)
    return [...Object.entries(set).map(([key, value]) => ({ path: key.split('.'), value })), ...nodesOfLog(log, request), ownStep(ms)];
  if (answer !== takeStep) throw new CancelledError();
  return [{ path: ['calibration', 'steps'], value: [...(run?.calibration?.steps?.value ?? []), { iterationMs: ms, set }] }];
}

function ownStep(ms: number): JsonChange {
  return { path: ['calibration', 'iterationMs'], value: ms };
}

/** Nodes for the GPUs of a log: whole nodes, or a part of one. */
function nodesOfLog({ differences }: LogComparison, { cluster }: Plan['request']): JsonChange[] {
  const gpus = Number(differences.find(({ key }) => key === 'gpus')?.log);
  const perNode = Math.min(gpus, cluster.gpusPerNode);
  if (!Number.isInteger(gpus / perNode)) return [];
  return [
    { path: ['cluster', 'nodes'], value: gpus / perNode },
    { path: ['cluster', 'gpusPerNode'], value: perNode },
  ];
}
