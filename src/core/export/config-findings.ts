import type { Finding } from '../findings';
import { isLauncher } from '../launchers/registry';
import type { Run } from '../run/run';
import type { LoadedConfig } from '../config-files/load-config';
import type { Plan } from '../planner/plan';
import type { Remedy } from '../rules/plan/remedy';
import { runFindings } from '../rules/run-findings';
import type { EditableFile } from './launchers/edit-launcher';
import { settingEdits } from './launchers/memory-fixes';
import { checkpointFindings } from '../rules/plan/checkpoint-findings';
import { formatFindings } from '../rules/plan/format-findings';
import { memoryFindings } from '../rules/plan/memory-findings';
import { sliceFindings } from './slices/slice-findings';

/**
 * All findings on a config and its plan: what the terminal's `plan` and `check` and the editor print. A launcher's file is judged by its
 * own rules, any other by those of a run; both by whether the plan fits.
 * @param run what is planned, with settings of a command line; null: nothing is. @param plan null: not planned yet, or it cannot be.
 * @param remedies of a plan that does not fit, as `findRemedies` finds them. @param editable what quick fixes of a launcher's file need.
 */
export function configFindings(
  config: Pick<LoadedConfig, 'format' | 'findings' | 'launcher' | 'fileRun'>,
  run: Run | null,
  plan: Plan | null,
  remedies: readonly Remedy[] = [],
  editable: EditableFile | null = null,
): readonly Finding[] {
  const { format, findings } = config;
  if (run === null) return findings;
  const ofCheckpoint = plan === null ? [] : checkpointFindings(config, run, plan.request);
  if (isLauncher(format)) return [...findings, ...ofCheckpoint, ...launchedFindings(run, plan, remedies, editable)];
  // that a kind of model is not planned is not true of a run that freezes layers, which plans it
  return runFindings(run, plan, remedies).filter(({ code }) => code !== 'model-not-planned' || !isElastic(run));
}

/** Whether a run freezes layers over its epochs. */
export function isElastic({ elastic, encoder }: Run): boolean {
  return elastic !== undefined || encoder !== undefined;
}

/**
 * Findings that take the plan of a launcher's file, in addition to those of rules: that its GPUs do not compute its number format, that it
 * does not fit (at the flag that decides most about memory), that its slices take longer than others. A remedy is a quick fix where the
 * file can express it: it changes the settings of the remedy and no others, read back and planned again.
 * @param remedies of the plan, as `findRemedies` finds them. @param editable null: without quick fixes.
 */
function launchedFindings(run: Run, plan: Plan | null, remedies: readonly Remedy[], editable: EditableFile | null): readonly Finding[] {
  const launchedEdits = (remedy: Remedy) => (editable === null ? null : settingEdits(remedy, editable));
  return [...formatFindings(run, plan), ...memoryFindings(run, plan, remedies, launchedEdits), ...sliceFindings(run, plan, editable)];
}
