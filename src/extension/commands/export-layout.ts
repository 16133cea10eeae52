import * as vscode from 'vscode';
import { CancelledError, ExpectedError } from '../../core/errors';
import type { LauncherReader } from '../../core/run/facts';
import { elasticHtml } from '../../features/elastic/core/report';
import { elasticRunFolder } from '../../features/elastic/core/torch-run';
import { planHtml } from '../../core/export/html/report';
import type { SliceExport } from '../../core/export/slices/slice-export';
import { torchFolder } from '../../core/export/torch/folder';
import { isSplitsSource, patchedSplits } from '../../core/export/slices/patch';
import { sliceExports } from '../../core/export/slices/registry';
import { listedSlices } from '../../core/export/slices/runs';
import { exportMenu } from '../../core/export/export-menu';
import { withSource } from '../../core/export/launchers/launch-settings';
import { remarkLine, remarkSeverity, type Remark, type RemarkSeverity } from '../../core/launchers/writing/remarks';
import type { NewLauncher } from '../../core/export/launchers/new-launcher';
import { launchers } from '../../core/launchers/registry';
import type { LauncherFormat } from '../../core/run/config-format';
import { unifiedDiff } from '../../core/export/line-diff';
import { printable } from '../../core/text';
import { loadReader } from '../../core/config-files/readers';
import type { Plan } from '../../core/planner/plan';
import { toPlanRequest } from '../../core/layout-search/request-of';
import type { LayoutPoint } from '../../protocol/layout';
import type { PlannerClient } from '../../host/planner/client';
import { reportFindings } from '../../host/report-findings';
import type { SessionState } from '../../host/sessions/session-state';
import { displayPath } from '../sessions/sources';
import { showInformationMessage, showQuestion, showQuickPick, showWarningMessage } from '../platform/ui';
import { pickedLayout } from './apply-layout';
import { launcherText, type ExportSource } from '../../host/launcher-text';
import { exportTorchRun } from './export-torch';
import { saveText } from './save';
import type { LayoutCommands } from './search-layout';
import { settled, findTarget } from './target';
import { say, sentence } from '../../core/sentence';

export interface ExportLayoutCommands extends LayoutCommands {
  readonly plan: PlannerClient['plan'];
  readonly shell: () => Promise<LauncherReader>;
  /** The sources of the PyTorch runtime. */
  readonly torchFolder: string;
}

/** A launcher's file, a report, a folder for PyTorch, a runtime of slices by its id, or a list of lengths in its source. */
type Target = LauncherFormat | 'html' | 'torchrun' | SliceExport | 'patch';

/**
 * Writes a layout as a new file of the launcher that is picked, unsaved, or as a report where the user chooses: the plan of `point`, else
 * of the last answer's best, else the config's own plan. For PyTorch a file with an `elastic` section is written as the run that freezes
 * layers, unless a layout is named, as `terapipe export` does.
 * @throws ExpectedError as `pickedLayout`, and what stopped the planning.
 */
export async function exportLayoutCommand(
  commands: ExportLayoutCommands,
  argument: unknown,
  point: LayoutPoint | null = null,
  asked: unknown = null,
): Promise<void> {
  const file = await findTarget(commands.shown, argument);
  const state = await settled(commands, file);
  const target = targetNamed(asked) ?? (await askTarget(state));
  if (target === 'torchrun' && point === null && state.run?.elastic !== undefined && state.elastic !== null) {
    await exportTorchRun(elasticRunFolder(state.elastic.plan), vscode.Uri.parse(file), commands.torchFolder);
    return;
  }
  const source = await findExportSource(commands, state, point, target);
  if (target === 'html') await report(commands, state, source);
  else if (target === 'torchrun') {
    const plan = withSource(await planSource(commands, source), state.launcher);
    await exportTorchRun(torchFolder(plan), vscode.Uri.parse(file), commands.torchFolder);
  } else if (target === 'patch') await showPatch(await planSource(commands, source));
  else if (typeof target === 'object') {
    const plan = withSource(await planSource(commands, source), state.launcher);
    const { text, gaps } = await target.write(plan, () => loadReader('megatron-shell', commands.shell));
    await openUnsaved({ text, gaps }, target.language);
  } else await openUnsaved(await launcherText(state, source, target, commands.shell), launchers[target].exported?.language ?? 'plaintext');
}

/** What another extension or a test names; null: the user is asked. */
function targetNamed(asked: unknown): Target | null {
  return asked === 'patch' || asked === 'torchrun' ? asked : (sliceExports.find(({ id }) => id === asked) ?? null);
}

function planSource({ plan }: ExportLayoutCommands, source: ExportSource): Promise<Plan> {
  return 'plan' in source ? Promise.resolve(source.plan) : plan(toPlanRequest(source.picked.result.request, source.picked.found));
}

/** Files of the workspace whose function returns slice lengths. */
const splitsFiles = '**/{sequence_split,sp_utils,chunked_pipeline_parallel_utils}.py';

/**
 * Shows the difference that gives solved slices to a runtime of the workspace; nothing is changed.
 * @throws ExpectedError `slices-no-function` where the workspace has none.
 */
async function showPatch(plan: Plan): Promise<void> {
  for (const uri of await vscode.workspace.findFiles(splitsFiles, null, 20)) {
    const text = (await vscode.workspace.openTextDocument(uri)).getText();
    if (!isSplitsSource(text)) continue;
    const { lengths } = listedSlices(plan, null);
    const name = printable(displayPath(uri.toString()));
    const content = unifiedDiff(text, patchedSplits(uri.path, text, lengths), name, name);
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ content, language: 'diff' }));
    return;
  }
  throw new ExpectedError(
    'slices-no-function',
    sentence`No file of the workspace has a function that returns slice lengths`,
    sentence`open the runtime's folder (sequence_split.py, sp_utils.py, chunked_pipeline_parallel_utils.py)`,
  );
}

/** Slices are those of the config's own plan unless a layout is named: the best one found may run on no runtime of slices. */
async function findExportSource(
  commands: ExportLayoutCommands,
  state: SessionState,
  point: LayoutPoint | null,
  target: Target,
): Promise<ExportSource> {
  const isOfSlices = target === 'patch' || typeof target === 'object';
  const isFound = commands.layouts.state(state.file)?.staleEdits === 0 && !isOfSlices;
  if (point === null && !isFound && state.plan !== null) return { plan: state.plan };
  return { picked: await pickedLayout(commands, state.file, point) };
}

async function askTarget({ launcher, plan }: SessionState): Promise<Target> {
  const menu = exportMenu(launcher?.format ?? null, plan);
  const patch = {
    target: 'patch',
    label: vscode.l10n.t('Solved slices'),
    description: vscode.l10n.t('the difference for get_splits() or _get_span() in the workspace'),
  } as const;
  const items: readonly (vscode.QuickPickItem & { readonly target: Target })[] = [
    ...menu.launchers.map(({ format, name, what, isOwn }) => ({
      target: format,
      label: name,
      description: isOwn ? vscode.l10n.t('a copy of this file, edited') : say(what, vscode.l10n.t),
    })),
    { target: 'torchrun', label: 'PyTorch', description: vscode.l10n.t('a folder that trains this plan') },
    ...menu.slices.map((target) => ({ target, label: target.name, description: vscode.l10n.t('its token slices') })),
    ...(menu.slices.length > 0 ? [patch] : []),
    { target: 'html', label: vscode.l10n.t('Report'), description: vscode.l10n.t('one HTML page to send around') },
  ];
  const picked = await showQuickPick(items, {
    title: vscode.l10n.t('Export layout'),
    placeHolder: vscode.l10n.t('What to write'),
  });
  if (picked === undefined) throw new CancelledError();
  return picked.target;
}

async function openUnsaved({ text, gaps }: Pick<NewLauncher, 'text' | 'gaps'>, language: string): Promise<void> {
  await requireAccepted(gaps);
  const known = await vscode.languages.getLanguages();
  const document = await vscode.workspace.openTextDocument({ content: text, ...(known.includes(language) ? { language } : {}) });
  await vscode.window.showTextDocument(document);
  const left = remarksText(gaps, 'warning');
  if (left === '') return;
  void showWarningMessage(vscode.l10n.t('This launcher does not support all of it. {0}.', left));
}

/** Asks whether a file is wanted that trains another model than the plan's. @throws CancelledError where it is not. */
async function requireAccepted(gaps: readonly Remark[]): Promise<void> {
  const errors = remarksText(gaps, 'error');
  if (errors === '') return;
  const write = vscode.l10n.t('Write anyway');
  const question = vscode.l10n.t('The new file would train a different model from the planned one.');
  if ((await showQuestion(question, `${errors}.`, write)) !== write) throw new CancelledError();
}

function remarksText(gaps: readonly Remark[], severity: RemarkSeverity): string {
  return gaps
    .filter((gap) => remarkSeverity(gap) === severity)
    .map((gap) => say(remarkLine(gap), vscode.l10n.t))
    .join('; ');
}

/** Saves the report of what a page shows: of a plan, else of a run that is planned only as an elastic one. */
export async function exportReport(commands: ExportLayoutCommands, session: SessionState): Promise<void> {
  const { plan, elastic } = session;
  if (plan !== null) await report(commands, session, { plan });
  else if (elastic !== null)
    await saveReport(
      session,
      `${elastic.plan.request.title} elastic plan`,
      elasticHtml(elastic.plan, reportFindings(session, displayPath)),
    );
}

async function report(commands: ExportLayoutCommands, session: SessionState, source: ExportSource): Promise<void> {
  const whole = await planSource(commands, source);
  await saveReport(session, `${whole.request.title} plan`, planHtml(whole, 'plan' in source ? reportFindings(session, displayPath) : []));
}

async function saveReport({ file }: SessionState, name: string, html: string): Promise<void> {
  const target = await saveText(vscode.Uri.parse(file), `${name}.html`, { HTML: ['html'] }, html);
  const open = vscode.l10n.t('Open in the browser');
  void showInformationMessage(vscode.l10n.t('The report is saved.'), open).then((answer) => {
    if (answer === open) void vscode.env.openExternal(target);
  });
}
