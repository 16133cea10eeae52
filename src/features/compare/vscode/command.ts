import * as vscode from 'vscode';
import { isMeasured } from '../core/measured';
import { formatDuration } from '../../../core/format';
import { maximumConfigSize } from '../../../core/languages/json/document';
import { CancelledError, ExpectedError } from '../../../core/errors';
import { isLauncher } from '../../../core/launchers/registry';
import { verdictText } from '../../../core/memory-model/verdict';
import type { Comparisons } from '../host/comparisons';
import type { Compared } from '../host/comparison-host';
import { findConfigs, isScheduleFile } from '../../../extension/sessions/find-configs';
import type { LayoutSearches } from '../../../host/sessions/layout-searches';
import type { PlanHistories } from '../../../host/sessions/plan-histories';
import { sessionConfigFormat } from '../../../extension/sessions/shown-config';
import { displayPath, uriBaseName, readText } from '../../../extension/sessions/sources';
import type { TimelinePanels } from '../../../extension/views/timeline-panels';
import { showQuickPick } from '../../../extension/platform/ui';
import { findTarget, toUri, type ConfigCommands } from '../../../extension/commands/target';
import { say, sentence } from '../../../core/sentence';

export interface CompareCommands extends ConfigCommands {
  readonly layouts: LayoutSearches;
  readonly panels: TimelinePanels;
  readonly comparisons: Comparisons;
  readonly histories: PlanHistories;
}

/** An earlier plan of a config, to compare the current one with; null once it was dropped. */
export function earlierPlan(histories: PlanHistories, file: string, id: number): Compared | null {
  const plan = histories.planAt(file, id);
  return plan === null ? null : { kind: 'earlier', name: vscode.l10n.t('{0}, plan {1}', displayPath(file), id), plan };
}

/**
 * Compares a config with another one, the best layout of a search, or a measured run, in its Compare tab, where errors of the comparison
 * are shown.
 * @param other a file (URI or path), `best`, or the files picked in the explorer, of which the one that is not `argument` is taken; asked
 * for otherwise.
 * @returns what was found, a sentence each, what matters most first; none where the page shows an error.
 * @throws ExpectedError `no-config`, `compare-schedule`; CancelledError.
 */
export async function compareWithCommand(commands: CompareCommands, argument: unknown, other: unknown): Promise<readonly string[]> {
  const { comparisons, panels, shown } = commands;
  const file = await findTarget(shown, argument);
  const named = other === 'best' ? null : otherUri(argument, other);
  const compared =
    other === 'best' ? ({ kind: 'best' } as const) : named === null ? await ask(commands, file) : await detectCompared(commands, named);
  panels.open(file, { tab: 'compare', candidate: null });
  await comparisons.start(file, compared);
  return comparisons.state(file)?.answer?.sentences.map((sentence) => say(sentence, vscode.l10n.t)) ?? [];
}

function otherUri(argument: unknown, other: unknown): vscode.Uri | null {
  if (!Array.isArray(other)) return toUri(other);
  const own = toUri(argument)?.toString();
  const [side, ...more] = other.map(toUri).filter((uri) => uri !== null && uri.toString() !== own);
  return more.length === 0 ? (side ?? null) : null;
}

/** What a file is, by its content; what is too large for a config is a measured run. */
async function detectCompared({ shown }: Pick<CompareCommands, 'shown'>, uri: vscode.Uri): Promise<Compared> {
  const file = uri.toString();
  const isSmall = await vscode.workspace.fs.stat(uri).then(
    ({ size }) => size <= maximumConfigSize,
    () => false,
  );
  if (!isSmall || isMeasured(await readText(file))) return { kind: 'measured', file };
  if (await isScheduleFile(uri))
    throw new ExpectedError(
      'compare-schedule',
      sentence`${uriBaseName(uri)} is a schedule, which has no times to compare`,
      sentence`pick a config, a trace or measured times`,
    );
  const config = await shown.findConfig(uri);
  return config === null ? { kind: 'measured', file } : { kind: 'config', file: config };
}

interface Choice extends vscode.QuickPickItem {
  /** Null: a file is asked for. */
  readonly compared?: () => Promise<Compared> | Compared | null;
}

async function ask(commands: CompareCommands, file: string): Promise<Compared> {
  const picked = await showQuickPick<Choice>(choices(commands, file), {
    title: vscode.l10n.t('Compare {0} with', displayPath(file)),
    placeHolder: vscode.l10n.t('A pinned plan, another config, the best layout, or a measured run'),
    matchOnDescription: true,
  });
  if (picked?.compared === undefined) throw new CancelledError();
  return (await picked.compared()) ?? (await browse(commands, file));
}

async function choices(commands: CompareCommands, file: string): Promise<Choice[]> {
  const { sessions, shown, log } = commands;
  const own = sessions.reads(file);
  const found = await findConfigs(log);
  const open = sessions.all().flatMap((state) => (sessionConfigFormat(state) === null ? [] : [state.file]));
  const files = [...new Set([...open, ...found.map((config) => config.file)])].filter((other) => !own.has(other));
  const separator = (label: string): Choice => ({ label, kind: vscode.QuickPickItemKind.Separator });
  const configs = files.map((other): Choice => {
    const uri = vscode.Uri.parse(other);
    const compared = async (): Promise<Compared> => ({ kind: 'config', file: (await shown.findConfig(uri)) ?? other });
    return { label: uriBaseName(uri), description: displayPath(other), iconPath: new vscode.ThemeIcon('file-code'), compared };
  });
  const pinned = pinnedChoices(commands, file);
  return [
    ...bestChoice(commands, file),
    {
      label: vscode.l10n.t('Browse for a trace or measured times…'),
      description: vscode.l10n.t('a Chrome trace, step times, or a training log; or any config'),
      iconPath: new vscode.ThemeIcon('folder-opened'),
      compared: () => null,
    },
    ...(pinned.length === 0 ? [] : [separator(vscode.l10n.t('Pinned plans'))]),
    ...pinned,
    ...(configs.length === 0 ? [] : [separator(vscode.l10n.t('Configs of this workspace'))]),
    ...configs,
  ];
}

/** Plans that were pinned, without the current one. */
function pinnedChoices({ histories }: CompareCommands, file: string): Choice[] {
  return histories
    .plans(file)
    .slice(1)
    .filter(({ isPinned }) => isPinned)
    .map(({ id, figures: { name, iterationMs, verdict } }) => ({
      label: vscode.l10n.t('Plan {0}', id),
      description: vscode.l10n.t(
        '{0}, {1} a step, {2}',
        say(name, vscode.l10n.t),
        formatDuration(iterationMs),
        say(verdictText(verdict), vscode.l10n.t),
      ),
      iconPath: new vscode.ThemeIcon('pinned'),
      compared: () => earlierPlan(histories, file, id),
    }));
}

/** For what is launched, and for configs whose layouts were searched for. */
function bestChoice({ sessions, layouts }: CompareCommands, file: string): Choice[] {
  const format = sessionConfigFormat(sessions.get(file));
  const result = layouts.state(file)?.answer?.result ?? null;
  const isLaunched = format !== null && isLauncher(format) && sessions.get(file)?.plan !== null;
  if (!isLaunched && result === null) return [];
  const names = result?.launched !== null;
  return [
    {
      label: names ? vscode.l10n.t('Launched layout compared with the best') : vscode.l10n.t('Planned layout compared with the best'),
      description: vscode.l10n.t('the layout of this config compared with the best one that a search finds'),
      iconPath: new vscode.ThemeIcon('search'),
      compared: () => ({ kind: 'best' }),
    },
  ];
}

async function browse(commands: CompareCommands, file: string): Promise<Compared> {
  const picked = await vscode.window.showOpenDialog({
    title: vscode.l10n.t('Compare {0} with', displayPath(file)),
    openLabel: vscode.l10n.t('Compare'),
    canSelectMany: false,
    defaultUri: vscode.Uri.joinPath(vscode.Uri.parse(file), '..'),
  });
  const uri = picked?.[0];
  if (uri === undefined) throw new CancelledError();
  return detectCompared(commands, uri);
}
