import type { Run } from '../formats/run';
import type { ConfigFormat } from '../formats/config-format';
import { isLauncher, launchers } from '../formats/registry';
import { schedulesOf } from '../schedules/registry';
import type { Runtime } from '../spec/runtime';
import type { ScheduleName } from '../spec/schedule-names';
import type { SearchKey } from './search-problem';

/** What a launcher can run: its schedules (null: any), and the choices that its file cannot set, or not alone. */
export interface Abilities {
  readonly schedules: readonly ScheduleName[] | null;
  readonly kept: readonly SearchKey[];
}

const anything: Abilities = { schedules: null, kept: [] };

/** By the runtime of a launcher. Sources: the rules about launchers and what `export/launchers` can write. */
const keptByRuntime: Readonly<Record<Runtime, readonly SearchKey[]>> = {
  megatron: [],
  torchtitan: ['contextParallelComm', 'sequenceParallel', 'zeroStage'],
  // data parallelism alone
  fsdp1: [
    'pipeline',
    'tensor',
    'virtualStages',
    'context',
    'contextParallelComm',
    'expert',
    'expertTensor',
    'sequenceParallel',
    'zeroStage',
  ],
  terapipe: ['virtualStages', 'context', 'contextParallelComm', 'expert', 'expertTensor', 'sequenceParallel'],
  deepspeed: ['virtualStages', 'context', 'contextParallelComm', 'expert', 'expertTensor', 'sequenceParallel'],
};

function abilitiesOfRuntime(runtime: Runtime): Abilities {
  return { schedules: schedulesOf(runtime), kept: keptByRuntime[runtime] };
}

/** What files of a format can set; anything where no launcher reads them. */
export function abilitiesOfFormat(format: ConfigFormat): Abilities {
  return isLauncher(format) ? abilitiesOfRuntime(launchers[format].traits.runtime) : anything;
}

/** What the launcher of a run can do, or the runtime that its files name where they are of no launcher. */
export function abilitiesOf({ format, training: { runtime } }: Pick<Run, 'format' | 'training'>): Abilities {
  const ofFormat = abilitiesOfFormat(format);
  return ofFormat !== anything || runtime?.value === undefined ? ofFormat : abilitiesOfRuntime(runtime.value);
}
