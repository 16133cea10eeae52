import type { Run } from '../formats/run';
import type { ConfigFormat } from '../formats/config-format';
import { isLauncher, launchers } from '../formats/registry';
import type { Runtime } from '../spec/runtime';
import type { ScheduleName } from '../spec/schedule-names';
import type { SearchKey } from './search-problem';

/** What a launcher can run: its schedules (null: any), and the choices that its file cannot set, or not alone. */
export interface Abilities {
  readonly schedules: readonly ScheduleName[] | null;
  readonly kept: readonly SearchKey[];
}

const anything: Abilities = { schedules: null, kept: [] };
const megatron: Abilities = { schedules: ['1F1B'], kept: [] };
const deepspeed: Abilities = {
  schedules: ['1F1B'],
  kept: ['virtualStages', 'context', 'contextParallelComm', 'expert', 'expertTensor', 'sequenceParallel'],
};
/** By the name of a class of `torch.distributed.pipelining`; interleaved 1F1B is 1F1B on virtual stages. */
const torchtitan: Abilities = {
  schedules: ['1F1B', 'GPipe', 'LoopedBFS', 'InterleavedZeroBubble', 'ZBVZeroBubble', 'DualPipeV'],
  kept: ['contextParallelComm', 'sequenceParallel', 'zeroStage'],
};

/** Data parallelism alone. */
const fsdp1: Abilities = {
  schedules: ['1F1B'],
  kept: [
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
};

/** By the runtime of a launcher. Sources: the rules about launchers and what `export/launchers` can write. */
const ofRuntime: Readonly<Record<Runtime, Abilities>> = { megatron, torchtitan, fsdp1, deepspeed };

/** What files of a format can set; anything where no launcher reads them. */
export function abilitiesOfFormat(format: ConfigFormat): Abilities {
  return isLauncher(format) ? ofRuntime[launchers[format].traits.runtime] : anything;
}

/** What the launcher of a run can do, or the runtime that its files name where they are of no launcher. */
export function abilitiesOf({ format, training: { runtime } }: Pick<Run, 'format' | 'training'>): Abilities {
  const ofFormat = abilitiesOfFormat(format);
  return ofFormat !== anything || runtime?.value === undefined ? ofFormat : ofRuntime[runtime.value];
}
