import * as vscode from 'vscode';
import { ExpectedError } from '../../core/errors';
import { candidateTrace } from '../../core/export/chrome-trace';
import type { CandidateId } from '../../core/planner/plan';
import { writeScheduleCsv } from '../../core/schedules/pytorch-csv/write';
import type { ExportFormat } from '../../protocol/page';
import type { SessionState } from '../../host/sessions/session-state';
import { withChosen } from '../../core/planner/candidates/virtual-stages';
import { withSource } from '../../core/export/launchers/launch-settings';
import { torchFolder } from '../../core/export/torch/folder';
import { exportTorchRun } from './export-torch';
import { exportReport, type ExportLayoutCommands } from './export-layout';
import { saveText } from './save';
import { say, sentence } from '../../core/sentence';

/** Saves a candidate of a session's plan, as people load it elsewhere. @throws ExpectedError where its schedule cannot be written so. */
export async function exportCandidate(
  commands: ExportLayoutCommands,
  session: SessionState,
  { format, candidate: id }: { readonly format: ExportFormat; readonly candidate: CandidateId | null },
): Promise<void> {
  if (format === 'html') {
    await exportReport(commands, session);
    return;
  }
  const { file, plan } = session;
  const candidate = plan?.candidates.find((each) => each.id === id);
  const timeline = candidate?.timeline ?? null;
  if (plan === null || candidate === undefined || timeline === null)
    throw new ExpectedError('export-no-timeline', sentence`There is no timeline to write`, sentence`pick a plan whose timeline is drawn`);
  const name = `${plan.request.title} ${say(candidate.name)}`;
  const configUri = vscode.Uri.parse(file);
  if (format === 'torchrun')
    await exportTorchRun(torchFolder(withSource(withChosen(plan, candidate), session.launcher)), configUri, commands.torchFolder);
  else if (format === 'chrome-trace')
    await saveText(configUri, `${name} trace.json`, { JSON: ['json'] }, candidateTrace(candidate, timeline, name));
  else
    await saveText(
      configUri,
      `${name}.csv`,
      { CSV: ['csv'] },
      writeScheduleCsv(
        timeline,
        format === 'pytorch-csv' ? 'compute_only' : 'compute_comms',
        format === 'pytorch-csv-comms-2.14' ? '2.14' : '2.15',
      ),
    );
}
