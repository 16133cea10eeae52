import { sentence } from '../sentence';
import type { Emit, ScheduleKind, ScheduleProblem, Unmet } from './kind';
import { operationKind, type OperationKind } from './schedule';

/** What all schedules of these blocks are. */
export const uniformTraits = {
  placement: 'loop',
  chunksPerStage: 'several',
  slices: false,
  sliced: false,
  planned: false,
  splitsBackward: true,
  splitIn: ['megatron'],
  postValidated: false,
  bound: 'work',
  unmet: fewStages,
} as const satisfies Partial<ScheduleKind>;

/** Megatron-LM interleaves on two stages or more. */
function fewStages({ stages }: ScheduleProblem): Unmet | null {
  if (stages > 1) return null;
  return { message: sentence`the pipeline has 1 stage, and its schedule interleaves 2 or more`, remedy: sentence`use 2 stages, or 1F1B` };
}

/** When a pass of a unit on a chunk starts, in passes that all take as long: a weight gradient right after its input gradient. */
export type PassStarts = (kind: OperationKind, chunk: number, unit: number) => number;

/**
 * The building blocks of PipeOffload (arXiv 2503.01328, sections 3.1 and 3.2; sail-sg/zero-bubble-pipeline-parallelism at 39f2c186,
 * `group_interleaved_1f1b.py`): groups of micro-batches repeat one block every 3 v passes for each micro-batch of a group, v chunks a
 * stage. Chunks of a micro-batch follow each other after half of the stages, rounded up, or as soon as its group is done, if that is later.
 *
 * @param size of a group; no more than the stages count.
 */
export function uniformStarts(stages: number, chunks: number, size: number): PassStarts {
  const group = Math.min(size, stages);
  const apart = Math.ceil(Math.ceil(stages / 2) / group);
  const inRow = Math.floor(chunks / commonDivisor(chunks, apart));
  const blockStart = (turn: number, unit: number): number =>
    3 * (group * chunks * Math.floor(unit / group) + apart * group * turn + (unit % group) + group * Math.floor(turn / inRow));
  const backwardAfter = blockStart(chunks - 1, 0) + 3 * (stages - 1) + 1;
  return (kind, chunk, unit) => {
    const stage = chunk % stages;
    const turn = Math.floor(chunk / stages);
    if (kind === operationKind.forward) return blockStart(turn, unit) + stage;
    return blockStart(chunks - 1 - turn, unit) + backwardAfter - 2 * stage + (kind === operationKind.backwardWeight ? 1 : 0);
  };
}

/** The order of each stage in these blocks. */
export function emitUniform({ stages, microBatches, chunksPerStage }: ScheduleProblem, size: number): (stage: number, emit: Emit) => void {
  const starts = uniformStarts(stages, chunksPerStage, size);
  const { forward, backwardInput, backwardWeight } = operationKind;
  return (stage, emit) => {
    const passes: { readonly at: number; readonly kind: OperationKind; readonly chunk: number; readonly unit: number }[] = [];
    for (let unit = 0; unit < microBatches; unit++)
      for (let chunk = stage; chunk < stages * chunksPerStage; chunk += stages)
        for (const kind of [forward, backwardInput, backwardWeight]) passes.push({ at: starts(kind, chunk, unit), kind, chunk, unit });
    for (const { kind, chunk, unit } of passes.sort((a, b) => a.at - b.at)) emit(kind, chunk, unit);
  };
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}
