import { totalmem } from 'node:os';
import * as vscode from 'vscode';
import { CancelledError, ExpectedError } from '../../core/errors';
import { torchFolder } from '../../core/export/torch/folder';
import { withSource } from '../../core/export/launchers/launch-settings';
import type { TorchPlan } from '../../core/export/torch/schema';
import { formatBytes } from '../../core/format';
import { sum } from '../../core/numbers';
import { counted, sentence } from '../../core/sentence';
import { inert } from '../platform/inert';
import { chosenPython } from '../platform/settings';
import { showInformationMessage, showQuickPick, showWarningMessage, withProgress } from '../platform/ui';
import { askRunFolder, writeRun } from './export-torch';
import { findTorch, type InstalledTorch } from './find-torch';
import { findTarget, settled, type ConfigCommands } from './target';

interface RunHereCommands extends ConfigCommands {
  readonly context: vscode.ExtensionContext;
  /** The sources of the PyTorch runtime. */
  readonly torchFolder: string;
}

/** What is run, and where: what another extension or a test may name. */
interface RunChoice {
  readonly what: 'train' | 'check';
  /** Null: the extension's own storage. */
  readonly folder: vscode.Uri | null;
  /** On the CPU, though there may be GPUs. */
  readonly onCpu: boolean;
}

/** Steps of a first run. */
const steps = '10';

/**
 * Trains the plan of a config on this machine, in a terminal, with the chosen interpreter, which must have PyTorch. Its processes start as
 * by `torchrun`.
 * @param asked `RunChoice`s that are not asked for.
 * @throws ExpectedError `run-untrusted`, `run-*`, `export-torchrun`, or why there is no plan; CancelledError.
 */
export async function runHereCommand(commands: RunHereCommands, argument: unknown, asked: unknown): Promise<void> {
  requireTrusted();
  const file = await findTarget(commands.shown, argument);
  const { plan: planned, error, launcher } = await settled(commands, file);
  if (planned === null) throw error ?? new ExpectedError('no-plan', sentence`There is no plan to run`, sentence`fix the config first`);
  const { files, plan } = torchFolder(withSource(planned, launcher));
  const config = vscode.Uri.parse(file);
  const choice = givenChoice(asked) ?? (await askChoice(config));
  const { context } = commands;
  const folder = choice.folder ?? vscode.Uri.joinPath(context.storageUri ?? context.globalStorageUri, 'runs', folderName(plan));
  await writeRun(folder, files, commands.torchFolder, choice.folder !== null);
  const python = await chosenPython(config);
  const torch = await lookForTorch(python, folder);
  commands.log.info(`run: ${python} has PyTorch ${torch.version} and ${torch.gpus} GPUs`);
  const onCpu = choice.onCpu || (await isLeftToCpu(plan, torch));
  if (onCpu) requireMemory(plan);
  await startRun({ file, plan, folder, python, what: choice.what, onCpu });
}

function requireTrusted(): void {
  if (vscode.workspace.isTrusted) return;
  throw new ExpectedError('run-untrusted', sentence`A restricted workspace trains nothing`, sentence`trust the workspace first`);
}

function givenChoice(asked: unknown): RunChoice | null {
  if (typeof asked !== 'object' || asked === null || !('what' in asked)) return null;
  const given = asked as Partial<RunChoice>;
  return { what: given.what === 'check' ? 'check' : 'train', folder: given.folder ?? null, onCpu: given.onCpu === true };
}

async function askChoice(config: vscode.Uri): Promise<RunChoice> {
  const items = [
    {
      label: vscode.l10n.t('Train {0} steps', steps),
      description: vscode.l10n.t('random tokens; every operation is measured'),
      what: 'train',
      asksFolder: false,
    },
    {
      label: vscode.l10n.t('Check the gradients'),
      description: vscode.l10n.t('one step in fp32, compared with the whole model'),
      what: 'check',
      asksFolder: false,
    },
    {
      label: vscode.l10n.t('Train in a folder that I choose…'),
      description: vscode.l10n.t('which keeps the plan and the runtime'),
      what: 'train',
      asksFolder: true,
    },
  ] as const;
  const picked = await showQuickPick<(typeof items)[number]>(items, {
    title: vscode.l10n.t('Run this plan with PyTorch'),
    placeHolder: vscode.l10n.t('What to run on this machine'),
  });
  if (picked === undefined) throw new CancelledError();
  return { what: picked.what, folder: picked.asksFolder ? await askRunFolder(config) : null, onCpu: false };
}

function folderName({ title }: TorchPlan): string {
  return title.replace(/[^\p{L}\p{N}_-]+/gu, '-').slice(0, 60);
}

function lookForTorch(python: string, folder: vscode.Uri): Thenable<InstalledTorch> {
  return withProgress(vscode.l10n.t('Looking for PyTorch'), (progress, token) => {
    progress.report({ message: python });
    const abort = new AbortController();
    token.onCancellationRequested(() => abort.abort());
    return findTorch(python, folder.fsPath, abort.signal);
  });
}

function processesNeeded({ layout: { pipeline, tensor, context, data } }: TorchPlan): number {
  return pipeline * tensor * context * data;
}

/** Whether the person takes the CPU, where there are not enough GPUs. @throws CancelledError otherwise. */
async function isLeftToCpu(plan: TorchPlan, { gpus }: InstalledTorch): Promise<boolean> {
  const needed = processesNeeded(plan);
  if (gpus >= needed) return false;
  const onCpu = vscode.l10n.t('Run on the CPU');
  const question = vscode.l10n.t('This plan needs {0} GPUs, and PyTorch finds {1} here. On the CPU it has {0} processes.', needed, gpus);
  if ((await showWarningMessage(question, onCpu)) !== onCpu) throw new CancelledError();
  return true;
}

/** @throws ExpectedError `run-memory` for a plan whose ranks need more memory together than there is. */
function requireMemory(plan: TorchPlan): void {
  const { pipeline } = plan.layout;
  const bytes = (sum(plan.predicted.peakBytes) * processesNeeded(plan)) / pipeline;
  if (bytes <= totalmem()) return;
  throw new ExpectedError(
    'run-memory',
    sentence`${counted(processesNeeded(plan), 'process', 'processes')} of this plan need ${formatBytes(bytes)}, and this machine has ${formatBytes(totalmem())}`,
    sentence`plan fewer layers, a smaller width or shorter sequences`,
  );
}

interface Run {
  /** The config. */
  readonly file: string;
  readonly plan: TorchPlan;
  readonly folder: vscode.Uri;
  readonly python: string;
  readonly what: RunChoice['what'];
  readonly onCpu: boolean;
}

/** Starts the processes in a terminal, which stays when they end, and reports how they did. */
async function startRun({ file, plan, folder, python, what, onCpu }: Run): Promise<void> {
  const trace = what === 'train' ? vscode.Uri.joinPath(folder, 'trace.json') : null;
  const options = trace === null ? ['--check'] : ['--steps', steps, '--trace', 'trace.json'];
  const args = ['train.py', 'plan.json', ...options, ...(onCpu ? ['--device', 'cpu'] : [])];
  const name = inert(trace === null ? vscode.l10n.t('check {0}', plan.title) : vscode.l10n.t('train {0}', plan.title));
  const execution = new vscode.ProcessExecution(python, args, { cwd: folder.fsPath });
  const task = new vscode.Task({ type: 'process' }, vscode.TaskScope.Workspace, name, 'TeraPipe', execution, []);
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, panel: vscode.TaskPanelKind.Dedicated };
  // Before it starts: a process that fails at once has ended when `executeTask` is done.
  const ended = vscode.tasks.onDidEndTaskProcess(({ execution: { task: other }, exitCode }) => {
    if (other.source !== task.source || other.name !== name) return;
    ended.dispose();
    if (exitCode === 0 && trace !== null) offerComparison(file, trace, plan.title);
    else if (exitCode !== 0 && exitCode !== undefined)
      void showWarningMessage(vscode.l10n.t('Training {0} ended with exit code {1}. The terminal shows the reason.', plan.title, exitCode));
  });
  try {
    await vscode.tasks.executeTask(task);
  } catch (error) {
    ended.dispose();
    throw error;
  }
}

function offerComparison(file: string, trace: vscode.Uri, title: string): void {
  const compare = vscode.l10n.t('Compare with the plan');
  void showInformationMessage(vscode.l10n.t('{0} has trained {1} steps.', title, steps), compare).then((answer) => {
    if (answer === compare) void vscode.commands.executeCommand('terapipe.compareWith', vscode.Uri.parse(file), trace);
  });
}
