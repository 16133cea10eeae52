import type { Run } from '../formats/run';
import type { Refusal } from '../formats/capabilities';
import type { ConfigFormat } from '../formats/config-format';
import { isLauncher, launchers } from '../formats/registry';
import { runtimeCapabilities } from '../formats/runtimes';
import { schedulesOf } from '../schedules/registry';
import { searchKeys, type SearchKey } from '../spec/layout-choices';
import type { ScheduleName } from '../spec/schedule-names';

/** What a launcher can run: its schedules (null: any), the choices that its file cannot say, and the layouts that it refuses. */
export interface Abilities {
  readonly schedules: readonly ScheduleName[] | null;
  readonly kept: readonly SearchKey[];
  readonly refuses: readonly Refusal[];
}

/** Schedules that the launcher of a format runs; null: no launcher reads it. */
export function schedulesOfFormat(format: ConfigFormat): readonly ScheduleName[] | null {
  return isLauncher(format) ? schedulesOf(launchers[format].traits.runtime) : null;
}

/** What the launcher of a run can do, or the runtime that its files name where they are of no launcher. */
export function abilitiesOf({ capabilities: ofLauncher, training: { runtime } }: Pick<Run, 'capabilities' | 'training'>): Abilities {
  const capabilities = ofLauncher ?? (runtime?.value === undefined ? null : runtimeCapabilities[runtime.value]);
  if (capabilities === null) return { schedules: null, kept: [], refuses: [] };
  const kept = searchKeys.filter((key) => capabilities.saidBy[key] !== 'file');
  return { schedules: schedulesOf(runtime?.value ?? 'megatron'), kept, refuses: capabilities.refuses };
}
