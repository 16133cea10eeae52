import * as vscode from 'vscode';
import { CancelledError, ExpectedError } from '../../../core/errors';
import { say, sentence } from '../../../core/sentence';
import { activeUri, findTarget, settled, toUri, type ConfigCommands } from '../../../extension/commands/target';
import { runCommand } from '../../../extension/commands/run-command';
import { showInformationMessage, showQuickPick, withAbort } from '../../../extension/platform/ui';
import type { Profiles } from '../../../extension/sessions/profiles';
import { displayPath, uriBaseName } from '../../../extension/sessions/sources';
import type { ReportDocuments } from '../../../extension/views/report-documents';
import type { PlannerClient } from '../../../host/planner/client';
import type { Scenarios } from '../../../host/sessions/scenarios';
import type { OomSource } from '../job';
import { oomReport, verdictSentences } from '../core/report';
import { exportSnapshotCommand } from './export-snapshot';

export interface OomCommands extends ConfigCommands {
  /** The planner of searches: no plan waits for it. */
  readonly searcher: PlannerClient;
  readonly profiles: Profiles;
  readonly scenarios: Scenarios;
  readonly reports: ReportDocuments;
}

/**
 * Shows why a run ran out of memory, from its log or memory snapshot, next to the plan of its config.
 * @param log a file; else the open one unless that is a config, else asked for. @param config its file; `none`; asked for where left out.
 * @returns the verdict, a sentence each. @throws ExpectedError as `readEvidence`, or of the config; CancelledError.
 */
export async function explainOomCommand(commands: OomCommands, log: unknown, config: unknown): Promise<readonly string[]> {
  const { t } = vscode.l10n;
  const uri = toUri(log) ?? (await openLog(commands)) ?? (await browse(vscode.l10n.t('A log or memory snapshot of the run')));
  const source = await sourceFrom(uri);
  const file = await configOfRun(commands, config);
  const planned = file === null ? null : await plannedConfig(commands, file);
  const answer = await withAbort(t('Reading {0}', uriBaseName(uri)), (signal) =>
    commands.searcher.ask('oom', { source, planned }, { signal }),
  );
  await commands.reports.show(t('Out of memory'), uri.toString(), oomReport(answer));
  const verdict = verdictSentences(answer).map((one) => say(one, t));
  if (file !== null) offerSnapshot(commands, file, verdict[0] ?? '');
  return verdict;
}

/** The verdict as a notification, with what the plan can be looked at as. */
function offerSnapshot(commands: OomCommands, file: string, verdict: string): void {
  const save = vscode.l10n.t("Save the plan's snapshot for PyTorch's memory viewer");
  void showInformationMessage(verdict, save).then((answer) =>
    runCommand(commands.log, 'terapipe.exportSnapshot', async () => {
      if (answer === save) await exportSnapshotCommand(commands, file);
    }),
  );
}

/** The text in front, unless it is a config. */
async function openLog({ shown }: OomCommands): Promise<vscode.Uri | null> {
  const uri = activeUri();
  return uri === null || (await shown.findConfig(uri)) !== null ? null : uri;
}

async function browse(title: string): Promise<vscode.Uri> {
  const [uri] = (await vscode.window.showOpenDialog({ title, openLabel: vscode.l10n.t('Explain') })) ?? [];
  if (uri === undefined) throw new CancelledError();
  return uri;
}

/** A file is read by the planner's process, whatever its size; what is only in an editor is sent. */
async function sourceFrom(uri: vscode.Uri): Promise<OomSource> {
  if (uri.scheme === 'file') return { kind: 'file', path: uri.fsPath };
  const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
  if (open !== undefined) return { kind: 'text', text: open.getText() };
  return { kind: 'text', text: new TextDecoder('utf-8').decode(await vscode.workspace.fs.readFile(uri)) };
}

/** The config of the run; null: none. */
async function configOfRun({ shown }: OomCommands, config: unknown): Promise<string | null> {
  const { t } = vscode.l10n;
  const named = toUri(config);
  if (named !== null && config !== 'none') return findTarget(shown, named);
  const known = shown.file();
  if (config === 'none' || known === null) return null;
  const title = t('Config of the run that ran out of memory');
  const items = [
    { label: displayPath(known), description: t('compares its plan, and prices changes'), choose: () => Promise.resolve(known) },
    { label: t('Another config'), description: t('from a folder'), choose: async () => findTarget(shown, await browse(title)) },
    { label: t('Without a config'), description: t('only what the run left'), choose: () => Promise.resolve(null) },
  ];
  const picked = await showQuickPick(items, { title });
  if (picked === undefined) throw new CancelledError();
  return picked.choose();
}

async function plannedConfig(commands: OomCommands, file: string) {
  const { run, plan, error } = await settled(commands, file);
  if (run === null || plan === null || error !== null)
    throw error ?? new ExpectedError('no-plan', sentence`The config of the run has no plan`, sentence`fix the config first`);
  const candidates = plan.candidates.map((candidate) => ({ ...candidate, timeline: null }));
  return {
    run,
    plan: { ...plan, candidates },
    defaults: commands.scenarios.resolveDefaults(file),
    found: await commands.profiles.found(run.file),
  };
}
