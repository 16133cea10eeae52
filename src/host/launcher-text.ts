import { loadReader } from '../core/config-files/readers';
import { editedCopy } from '../core/export/apply-layout';
import { editableFile } from '../core/export/launchers/edit-launcher';
import { launchableStep } from '../core/export/launchers/launchable';
import { plannedStep, stepOfFound, withSource, type PlannedStep } from '../core/export/launchers/launch-settings';
import { newFileLaunchers } from '../core/export/export-menu';
import { checkedNewLauncher, newFileWriter, type NewLauncher } from '../core/export/launchers/new-launcher';
import type { FoundPlan, SearchResult } from '../core/layout-search/result';
import type { Plan } from '../core/planner/plan';
import type { LauncherFormat } from '../core/run/config-format';
import type { LauncherReader } from '../core/run/facts';
import type { SessionState } from './sessions/session-state';

/** A plan of the last answer, and that answer. */
export interface PickedLayout {
  readonly result: SearchResult;
  readonly found: FoundPlan;
}

/** What is written: a layout that a search found, or the plan of the config. */
export type ExportSource = { readonly picked: PickedLayout } | { readonly plan: Plan };

/** The text of a new file of a launcher; of the config's own launcher, a copy of the config with the layout written into it. */
export async function launcherText(
  { launcher, reread }: SessionState,
  source: ExportSource,
  target: LauncherFormat,
  shell: () => Promise<LauncherReader>,
): Promise<Pick<NewLauncher, 'text' | 'gaps'>> {
  const isOwn = launcher !== null && newFileLaunchers.some(({ format, edits }) => format === target && edits.includes(launcher.format));
  const editable = isOwn && reread !== null ? await editableFile(launcher, reread) : null;
  if (editable !== null) return editedCopy(toStep(source, plannedStep), editable);
  const { plan, ...step } = toStep(source, (whole) => launchableStep(whole, target));
  return checkedNewLauncher({ ...step, plan: withSource(plan, launcher) }, await newFileWriter(target), await loadReader(target, shell));
}

function toStep(source: ExportSource, ofPlan: (plan: Plan) => PlannedStep): PlannedStep {
  return 'plan' in source ? ofPlan(source.plan) : stepOfFound(source.picked.result, source.picked.found);
}
