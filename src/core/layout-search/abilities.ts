import type { Run } from '../formats/run';
import type { ConfigFormat } from '../formats/config-format';
import type { Runtime } from '../spec/runtime';
import type { ScheduleName } from '../spec/schedule-names';
import type { SearchKey } from './search-problem';

/** What a launcher runs: its schedules (null: any), and what it cannot be told, or only by more than its file. */
export interface Abilities {
  readonly schedules: readonly ScheduleName[] | null;
  readonly kept: readonly SearchKey[];
}

const anything: Abilities = { schedules: null, kept: [] };
const megatron: Abilities = { schedules: ['1F1B'], kept: [] };
const deepspeed: Abilities = {
  schedules: ['1F1B'],
  kept: ['virtualStages', 'context', 'contextExchange', 'expert', 'expertTensor', 'sequenceParallel'],
};
/** By the name of a class of `torch.distributed.pipelining`; interleaved 1F1B is 1F1B on virtual stages. */
const torchtitan: Abilities = {
  schedules: ['1F1B', 'GPipe', 'LoopedBFS', 'InterleavedZeroBubble', 'ZBVZeroBubble', 'DualPipeV'],
  kept: ['contextExchange', 'sequenceParallel', 'zeroStage'],
};

/** By the format of a file. Sources: the rules of `launch/` and what `export/launchers` can write. */
export const abilities: Readonly<Record<ConfigFormat, Abilities>> = {
  huggingface: anything,
  terapipe: anything,
  onnx: anything,
  'megatron-shell': megatron,
  'megatron-yaml': megatron,
  nemo: megatron,
  'megatron-bridge': megatron,
  torchtitan,
  deepspeed,
  'gpt-neox': deepspeed,
};

const ofRuntime: Readonly<Record<Runtime, Abilities>> = { megatron, torchtitan, deepspeed };

/** What the launcher of a run can do, or the runtime that its files name where they are of no launcher. */
export function abilitiesOf({ format, training: { runtime } }: Pick<Run, 'format' | 'training'>): Abilities {
  const ofFormat = abilities[format];
  return ofFormat !== anything || runtime?.value === undefined ? ofFormat : ofRuntime[runtime.value];
}
