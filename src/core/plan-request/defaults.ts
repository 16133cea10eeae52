import type { GpuPresetName } from '../cluster/presets';
import type { Runtime } from '../domain/runtime';
import type { ScheduleChoices } from '../domain/schedule-names';
import type { Scenario } from './scenario';
import { sentence, type Sentence } from '../sentence';

/** The GPU of a plan where nothing names one, in the editor and on the terminal. */
export const assumedGpuName: GpuPresetName = 'H100-80GB';

/** What the face knows when the files leave it open. */
export interface ResolveDefaults {
  readonly gpu: GpuPresetName;
  readonly nodes: number | null;
  readonly gpusPerNode: number | null;
  /** The runtime of files that name none; absent: Megatron-LM. */
  readonly runtime?: Runtime;
  /** What there is to choose the schedule from where no file sets it; absent: what the runtime runs. */
  readonly schedules?: ScheduleChoices;
  /** The scenario of the config's last plan, which stays while it is edited; absent: it is planned for the first time. */
  readonly kept?: Scenario | undefined;
  /** Why each of them is taken, as the face shows it; absent: its settings say so. */
  readonly reasons?: Readonly<Record<'gpu' | 'nodes' | 'gpusPerNode', Sentence>>;
}

/** Why a default of the face is taken. */
export function reasonOfFace({ reasons }: ResolveDefaults, key: keyof NonNullable<ResolveDefaults['reasons']>): Sentence {
  return reasons?.[key] ?? sentence`the default of the settings`;
}
