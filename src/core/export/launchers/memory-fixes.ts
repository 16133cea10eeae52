import { ExpectedError } from '../../errors';
import type { TextEdit } from '../../findings';
import type { Plan } from '../../planner/plan';
import { requireEdited, thatSet, writtenInto, type EditableFile } from './edit-launcher';
import { plannedStep } from './launch-settings';
import type { PlanSetting } from '../../launchers/writing/desired-setting';

/**
 * Edits of a launcher's file that set some settings of terapipe.json as its plan has them, and none else, read back; null where it cannot
 * express them.
 */
export function settingEdits(
  { sets, plan }: { readonly sets: readonly (readonly [key: string, value: unknown])[]; readonly plan: Plan | null },
  editable: EditableFile,
): readonly TextEdit[] | null {
  if (plan === null) return null;
  try {
    const step = plannedStep(plan);
    const asked = thatSet(new Set(sets.flatMap(([key]) => launcherSettings(key))));
    const edited = writtenInto(step.plan, editable, asked);
    if (edited.edits.length === 0 || edited.gaps.length > 0 || edited.alongside.length > 0) return null;
    requireEdited(step, edited, editable, asked);
    return edited.edits;
  } catch (error) {
    if (error instanceof ExpectedError) return null;
    throw error;
  }
}

/** The launcher settings for a setting of terapipe.json and for what depends on it. */
export function launcherSettings(key: string): readonly PlanSetting[] {
  switch (key) {
    case 'layout.pipeline':
      return ['pipeline', 'virtualStages', 'stageLayers', 'schedule', 'data'];
    case 'layout.virtualStages':
      return ['virtualStages', 'stageLayers', 'schedule'];
    case 'layout.stageLayers':
      return ['stageLayers', 'virtualStages'];
    case 'layout.tensor':
      return ['tensor', 'expertTensor', 'data'];
    case 'layout.context':
      return ['context', 'data'];
    case 'layout.expert':
      return ['expert'];
    case 'layout.data':
    case 'cluster.nodes':
      return ['data'];
    case 'training.microBatch':
      return ['microBatch', 'globalBatch'];
    case 'training.globalBatch':
      return ['globalBatch'];
    case 'training.recompute':
      return ['recompute'];
    case 'training.zeroStage':
      return ['zeroStage'];
    case 'training.sequenceParallel':
      return ['sequenceParallel'];
    default:
      return [];
  }
}
