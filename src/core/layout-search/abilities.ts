import type { ConfigFormat } from '../formats/config-format';
import { isLauncher, launchers } from '../formats/registry';
import type { Run } from '../formats/run';
import { runtimeCapabilities } from '../formats/runtimes';
import { schedulesOf } from '../schedules/registry';
import type { CapabilitiesWith } from '../spec/capabilities';
import type { ScheduleName } from '../spec/schedule-names';

/** What a launcher can do. Null: no launcher and no runtime is named, and nothing is known of it. */
export interface Abilities {
  readonly schedules: readonly ScheduleName[];
  readonly capabilities: CapabilitiesWith;
}

/** Schedules that the launcher of a format runs; null: no launcher reads it. */
export function schedulesOfFormat(format: ConfigFormat): readonly ScheduleName[] | null {
  return isLauncher(format) ? schedulesOf(launchers[format].traits.runtime) : null;
}

/** What the launcher of a run can do, or the runtime that its files name where they are of no launcher. */
export function abilitiesOf({ capabilities: ofLauncher, training: { runtime } }: Pick<Run, 'capabilities' | 'training'>): Abilities | null {
  const capabilities = ofLauncher ?? (runtime?.value === undefined ? undefined : runtimeCapabilities[runtime.value]);
  return capabilities === undefined ? null : { schedules: schedulesOf(runtime?.value ?? 'megatron'), capabilities };
}
