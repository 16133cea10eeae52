import { createHash } from 'node:crypto';
import { totalmem } from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { CancelledError, ExpectedError } from '../../core/errors';
import { torchFolder } from '../../core/export/torch/folder';
import { withSource } from '../../core/export/launchers/launch-settings';
import type { TorchPlan } from '../../core/export/torch/schema';
import { formatBytes } from '../../core/format';
import { profileMismatch } from '../../core/measured-profile/match';
import { sum } from '../../core/numbers';
import type { PlanRequest } from '../../core/domain/request';
import { counted, say, sentence } from '../../core/sentence';
import { readProfile } from '../../profiler/store';
import { inert } from '../platform/inert';
import { chosenPython } from '../platform/settings';
import { showInformationMessage, showQuickPick, showWarningMessage, withProgress } from '../platform/ui';
import { askRunFolder, writeRun } from './export-torch';
import { findTorch, type InstalledTorch } from './find-torch';
import type { Profiles } from '../sessions/profiles';
import { findTarget, settled, type ConfigCommands } from './target';

interface RunHereCommands extends ConfigCommands {
  readonly context: vscode.ExtensionContext;
  readonly profiles: Profiles;
  /** The sources of the PyTorch runtime. */
  readonly torchFolder: string;
}

/** What is run, and where: what another extension or a test may name. */
interface RunChoice {
  readonly what: 'train' | 'check' | 'profile';
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
  const onCpu = choice.onCpu || (await isLeftToCpu(plan, torch, choice.what));
  if (onCpu) requireMemory(plan);
  const run = { file, plan, folder, python, onCpu };
  await startRun(run, choice.what === 'profile' ? await profiling(commands, run, planned.request) : training(run, choice.what));
}

function requireTrusted(): void {
  if (vscode.workspace.isTrusted) return;
  throw new ExpectedError('run-untrusted', sentence`A restricted workspace trains nothing`, sentence`trust the workspace first`);
}

function givenChoice(asked: unknown): RunChoice | null {
  if (typeof asked !== 'object' || asked === null || !('what' in asked)) return null;
  const given = asked as Partial<RunChoice>;
  const what = given.what === 'check' || given.what === 'profile' ? given.what : 'train';
  return { what, folder: given.folder ?? null, onCpu: given.onCpu === true };
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
      label: vscode.l10n.t('Profile'),
      description: vscode.l10n.t('passes, messages and optimizer, for plans on this hardware'),
      what: 'profile',
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
async function isLeftToCpu(plan: TorchPlan, { gpus }: InstalledTorch, what: RunChoice['what']): Promise<boolean> {
  const needed = processesNeeded(plan);
  if (gpus >= needed) return false;
  const onCpu = vscode.l10n.t('Run on the CPU');
  const question = vscode.l10n.t('This plan needs {0} GPUs, and PyTorch finds {1} here. On the CPU it has {0} processes.', needed, gpus);
  const serves = what === 'profile' ? ` ${vscode.l10n.t('A profile of the CPU serves only plans for it, in fp32.')}` : '';
  if ((await showWarningMessage(`${question}${serves}`, onCpu)) !== onCpu) throw new CancelledError();
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
  readonly onCpu: boolean;
}

/** What the processes of a run do. */
interface Work {
  /** The task's name. */
  readonly name: string;
  /** Options of `train.py`. */
  readonly options: readonly string[];
  /** After they ended well. */
  readonly done: () => void;
}

function training({ file, plan, folder }: Run, what: 'train' | 'check'): Work {
  const { title } = plan;
  if (what === 'check') return { name: vscode.l10n.t('check {0}', title), options: ['--check'], done: () => undefined };
  return {
    name: vscode.l10n.t('train {0}', title),
    options: ['--steps', steps, '--trace', 'trace.json'],
    done: () => offerComparison(file, vscode.Uri.joinPath(folder, 'trace.json'), title),
  };
}

/** Measures what plans are made of with the trainer's own kernels, into the folder of the config's profiles. */
async function profiling({ profiles, log }: RunHereCommands, { file, plan }: Run, request: PlanRequest): Promise<Work> {
  const target = profiles.profileFolder(file);
  await vscode.workspace.fs.createDirectory(vscode.Uri.file(target));
  // The same plan of the same config replaces what it measured before.
  const key = createHash('sha256').update(JSON.stringify([file, plan.layout, plan.training.precision, plan.training.sequenceLength]));
  const written = path.join(target, `torch-${folderName(plan)}-${key.digest('hex').slice(0, 8)}.json`);
  return {
    name: vscode.l10n.t('profile {0}', plan.title),
    options: ['--profile', written],
    done: () => void showProfile(written, request).catch((error: unknown) => log.error(String(error))),
  };
}

async function showProfile(file: string, request: PlanRequest): Promise<void> {
  const { profile } = await readProfile(file);
  const refusal = profileMismatch(profile, request);
  const show = vscode.l10n.t('Open the file');
  const text =
    refusal === null
      ? vscode.l10n.t('{0} is profiled with PyTorch; the plan uses it now.', request.title)
      : vscode.l10n.t('{0} is profiled with PyTorch. This plan does not use it: {1}.', request.title, say(refusal, vscode.l10n.t));
  if ((await showInformationMessage(text, show)) === show) await vscode.window.showTextDocument(vscode.Uri.file(file));
}

/** Starts the processes in a terminal, which stays when they end, and reports how they did. */
async function startRun({ plan, folder, python, onCpu }: Run, work: Work): Promise<void> {
  const args = ['train.py', 'plan.json', ...work.options, ...(onCpu ? ['--device', 'cpu'] : [])];
  const name = inert(work.name);
  const execution = new vscode.ProcessExecution(python, args, { cwd: folder.fsPath });
  const task = new vscode.Task({ type: 'process' }, vscode.TaskScope.Workspace, name, 'TeraPipe', execution, []);
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, panel: vscode.TaskPanelKind.Dedicated };
  // Before it starts: a process that fails at once has ended when `executeTask` is done.
  const ended = vscode.tasks.onDidEndTaskProcess(({ execution: { task: other }, exitCode }) => {
    if (other.source !== task.source || other.name !== name) return;
    ended.dispose();
    if (exitCode === 0) work.done();
    else if (exitCode !== undefined)
      void showWarningMessage(
        vscode.l10n.t('The run of {0} ended with exit code {1}. The terminal shows the reason.', plan.title, exitCode),
      );
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
