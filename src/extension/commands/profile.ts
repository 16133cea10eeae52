import * as vscode from 'vscode';
import { ExpectedError } from '../../core/errors';
import { formatNumber } from '../../core/format';
import type { PlanRequest } from '../../core/domain/request';
import { profileMismatch } from '../../core/measured-profile/match';
import { resolveRun } from '../../core/plan-request/resolve';
import { overridden } from '../../core/domain/located';
import type { Profile } from '../../core/domain/profile';
import { isGpuGiven } from '../../core/rules/plan/memory-findings';
import type { Run } from '../../core/run/run';
import { runOfOnnx } from '../../profiler/onnx-file/run-of-onnx';
import type { ProfileRun } from '../../profiler/profile-run';
import { requireTrust, stoppedBy, type Profiles } from '../sessions/profiles';
import type { SessionState } from '../../host/sessions/session-state';
import { planDefaults } from '../platform/settings';
import type { TimelinePanels } from '../views/timeline-panels';
import { showInformationMessage, withProgress } from '../platform/ui';
import { settled, findTarget, toUri, type ConfigCommands } from './target';
import { say, sentence } from '../../core/sentence';

export interface ProfileCommands extends ConfigCommands {
  readonly profiles: Profiles;
  readonly panels: TimelinePanels;
}

/**
 * Measures the layer of a config on this machine, in the open Profile tab and with a notification that can cancel it.
 * @throws ExpectedError what prevented it or stopped it half way; CancelledError.
 */
export async function profileCommand(commands: ProfileCommands, argument: unknown): Promise<void> {
  requireTrust();
  const { panels, shown } = commands;
  const uri = toUri(argument);
  if (uri !== null && /\.onnx$/i.test(uri.path)) {
    await profileOnnx(commands, uri);
    return;
  }
  const file = await findTarget(shown, argument);
  const session = await settled(commands, file);
  const request = profileRequest(commands, session);
  panels.open(file, { tab: 'profile', candidate: null });
  await measureWithProgress(commands, file, request, session.run);
}

/** The layer of an ONNX model, by the shape in its graph. It has no plan of its own: the profile is saved next to it. */
async function profileOnnx(commands: ProfileCommands, uri: vscode.Uri): Promise<void> {
  // Before the file is read: only one on this machine's disk can be.
  commands.profiles.profileFolder(uri.toString());
  const run = await runOfOnnx(uri.fsPath);
  const request = resolveRun(run, planDefaults(uri, commands.log));
  await measureWithProgress(commands, uri.toString(), request, run);
}

async function measureWithProgress({ profiles }: ProfileCommands, file: string, request: PlanRequest, run: Run | null): Promise<void> {
  const done = await withProgress(vscode.l10n.t('Profiling {0}', request.title), async (progress, token) => {
    const subscription = token.onCancellationRequested(profiles.cancel);
    progress.report({ message: vscode.l10n.t('looking for a GPU') });
    let reported = 0;
    try {
      return await profiles.measure(file, request, {
        precisionFixed: run?.training.precision !== undefined,
        gpuFixed: run !== null && isGpuGiven(run),
        onNotice: (notice) => {
          progress.report({ message: say(notice, vscode.l10n.t) });
        },
        onProgress: ({ doing, fraction }) => {
          progress.report({ message: doing, increment: 100 * Math.max(0, fraction - reported) });
          reported = Math.max(reported, fraction);
        },
      });
    } finally {
      subscription.dispose();
    }
  });
  tellOutcome(done, request);
}

/** What to measure for: the run as its files set it, whatever profile the plan rests on now. */
function profileRequest({ log }: ProfileCommands, { file, run, error }: SessionState): PlanRequest {
  if (run !== null) return resolveRun({ ...run, profile: overridden(null) }, planDefaults(vscode.Uri.parse(file), log));
  throw error ?? new ExpectedError('no-plan', sentence`There is no plan to profile for`, sentence`fix the config first`);
}

/** What was measured, how sure it is, and whether the plan uses it now. */
function tellOutcome({ profile, file, saveError }: ProfileRun, request: PlanRequest): void {
  if (saveError !== null) throw saveError;
  const stopped = stoppedBy(profile);
  if (stopped !== null) throw stopped;
  if (profile.error !== null) return;
  const show = vscode.l10n.t('Open the file');
  const refusal = profileMismatch(profile, request);
  const sure = errorText(profile);
  const text =
    refusal === null
      ? vscode.l10n.t('{0} is profiled ({1}); the plan uses it now.', request.title, sure)
      : vscode.l10n.t('{0} is profiled ({1}). This plan does not use it: {2}.', request.title, sure, say(refusal, vscode.l10n.t));
  if (file === null) return;
  // Not awaited: the command is done, whether somebody answers or not.
  void showInformationMessage(text, show).then((answer) => {
    if (answer === show) void vscode.window.showTextDocument(vscode.Uri.file(file));
  });
}

function errorText({ errors }: Profile): string {
  if (errors === null) return vscode.l10n.t('no fit');
  const { forward, backward } = errors;
  return vscode.l10n.t('fit off by {0} % forward, {1} % backward', formatNumber(forward.meanPercent), formatNumber(backward.meanPercent));
}
