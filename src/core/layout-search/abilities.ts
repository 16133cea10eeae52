import type { ConfigFormat } from '../run/config-format';
import { isLauncher, launchers } from '../launchers/registry';
import type { Run } from '../run/run';
import { runtimeCapabilities } from '../launchers/runtimes';
import { runtimeSchedules } from '../schedules/registry';
import type { Runtime } from '../domain/runtime';
import type { CapabilitiesWith } from '../domain/capabilities';
import type { ScheduleName } from '../domain/schedule-names';

/** What a launcher can do, or a runtime. */
interface Abilities {
  readonly schedules: readonly ScheduleName[];
  readonly capabilities: CapabilitiesWith;
}

/** Schedules that the launcher of a format runs; null: no launcher reads it. */
export function schedulesOfFormat(format: ConfigFormat): readonly ScheduleName[] | null {
  return isLauncher(format) ? runtimeSchedules(launchers[format].traits.runtime) : null;
}

/** What the launcher of a run can do, or the runtime that its files name where they are of no launcher, or else the one that is assumed. */
export function runAbilities({ capabilities, training: { runtime } }: Pick<Run, 'capabilities' | 'training'>, assumed: Runtime): Abilities {
  const { value } = runtime ?? {};
  return {
    schedules: runtimeSchedules(value ?? (capabilities === undefined ? assumed : 'megatron')),
    capabilities: capabilities ?? runtimeCapabilities[value ?? assumed],
  };
}

/** Whether files say who runs a run: they are a launcher's, or name a runtime. */
export function namesRuntime({ capabilities, training: { runtime } }: Pick<Run, 'capabilities' | 'training'>): boolean {
  return capabilities !== undefined || runtime?.value !== undefined;
}
