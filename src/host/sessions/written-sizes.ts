import { ExpectedError } from '../../core/errors';
import { editableFile } from '../../core/export/launchers/edit-launcher';
import { settingEdits } from '../../core/export/launchers/memory-fixes';
import type { TextEdit } from '../../core/findings';
import { isLauncher } from '../../core/launchers/registry';
import type { Run } from '../../core/run/run';
import type { WhatIfSet } from '../../core/layout-search/what-if';
import type { Plan } from '../../core/planner/plan';
import { sentence } from '../../core/sentence';
import type { SessionState } from './session-state';
import type { WhatIf } from './what-ifs';

/** A key of terapipe.json with what it is set to; null removes it. */
export type ConfigSet = readonly [key: string, value: string | number | boolean | readonly (string | number | object)[] | null];

/** What was tried with `sets`. @throws ExpectedError `what-if-outdated` where it was something else. */
export function triedPlan(tried: WhatIf | null, sets: readonly WhatIfSet[]): Plan {
  const plan = tried !== null && JSON.stringify(tried.sets) === JSON.stringify(sets) ? tried.plan : null;
  if (plan !== null) return plan;
  throw new ExpectedError('what-if-outdated', sentence`The config changed since these sizes were tried`, sentence`try them again`);
}

/** Edits of a launcher's file that write what was tried into it; null where that takes a terapipe.json. */
export async function launcherEdits(
  { launcher, reread }: Pick<SessionState, 'launcher' | 'reread'>,
  sets: readonly WhatIfSet[],
  plan: Plan,
): Promise<readonly TextEdit[] | null> {
  if (launcher === null || reread === null || !sets.every(launcherCanExpress)) return null;
  const editable = await editableFile(launcher, reread);
  return editable === null ? null : settingEdits({ sets, plan }, editable);
}

/** Whether the file of a launcher can express what was tried: schedules and slices are set only in a terapipe.json. */
function launcherCanExpress([key]: WhatIfSet): boolean {
  return key !== 'schedule' && key !== 'slicing.unit';
}

/**
 * What a terapipe.json next to a model config or a launcher has to set, so that it is planned as what was tried: in addition to the sets
 * themselves what only the other file sets, or has the planner assume.
 * @param run of that file. @param plan what was tried.
 */
export function overridesForNewFile(
  { format, layout, training, batchPerReplica, nodes }: Run,
  sets: readonly ConfigSet[],
  plan: Plan,
): readonly ConfigSet[] {
  const { request } = plan;
  const given = new Set<string>(sets.map(([key]) => key));
  // Files of some launchers say the batch of one replica, and so all sequences of a step only with the layout.
  const isOfReplicas = training.globalBatch === undefined && batchPerReplica !== undefined;
  const isOpen = sets.some(([key, value]) => key === 'schedule' && value === null);
  const added: readonly (ConfigSet | null)[] = [
    isOfReplicas ? ['training.globalBatch', request.training.globalBatch] : null,
    ...(['tensor', 'pipeline', 'data'] as const).map((key): ConfigSet | null =>
      isOfReplicas && layout[key] === undefined ? [`layout.${key}`, request.layout[key]] : null,
    ),
    nodes === undefined && request.cluster.groups === undefined ? ['cluster.nodes', request.cluster.nodes] : null,
    // a launcher's file that gives no virtual stages has none; a terapipe.json leaves them to the planner
    isLauncher(format) && layout.virtualStages === undefined && request.layout.pipeline > 1
      ? ['layout.virtualStages', request.layout.virtualStages]
      : null,
    isOpen && isLauncher(format) ? ['schedules', request.runs ?? 'all'] : null,
  ];
  return [...sets, ...added.filter((set) => set !== null).filter(([key]) => !given.has(key))];
}
