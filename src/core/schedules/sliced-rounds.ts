import type { Emit, ScheduleProblem, StageOfRun } from './kind';
import { operationKind, type OperationKind } from './schedule';

/** A forward or a backward of one slice on one of a stage's own chunks. */
interface SlicePass {
  readonly localChunk: number;
  readonly unit: number;
}

/** In which order a stage runs its passes forward and backward, the same on every stage. */
interface SlicedPasses {
  readonly forward: readonly SlicePass[];
  readonly backward: readonly SlicePass[];
  /** Forwards of the last stage before its first backward: so many that every backward finds its own forward done. */
  readonly ahead: number;
}

/**
 * The order of 1F1B over token slices on chunks in a loop (docs/model/schedules.md, Kinds). A round takes whole sequences, so many that it
 * has a slice for every stage, through every chunk of a stage before the next round starts; backward from the last chunk to the first, the
 * last slice of each sequence first. With one slice a sequence and rounds that come out even it is the order of PyTorch's
 * ScheduleInterleaved1F1B, with one chunk that of Seq1F1B.
 *
 * @param perHop forwards that a stage runs ahead for each stage behind it.
 * @param splits whether backward is split; then the weight gradient of stage r comes r passes after its input gradient.
 */
export function slicedOrder(
  problem: ScheduleProblem,
  { perHop, splits }: { readonly perHop: number; readonly splits: boolean },
): (stage: number, emit: Emit) => void {
  const { stages } = problem;
  const { forward, backward, ahead } = slicedPasses(problem);
  const passes = forward.length;
  const globalChunk = ({ localChunk }: SlicePass, stage: number): number => localChunk * stages + stage;
  return (stage, emit) => {
    const warmUp = Math.min(ahead + perHop * (stages - 1 - stage), passes);
    const late = splits ? stage : 0;
    const emitAt = (kind: OperationKind, order: readonly SlicePass[], index: number): void => {
      const pass = order[index];
      if (pass !== undefined) emit(kind, globalChunk(pass, stage), pass.unit);
    };
    for (let index = 0; index < passes + warmUp + late; index++) {
      emitAt(operationKind.forward, forward, index);
      emitAt(splits ? operationKind.backwardInput : operationKind.backward, backward, index - warmUp);
      if (splits) emitAt(operationKind.backwardWeight, backward, index - warmUp - late);
    }
  };
}

function slicedPasses({ stages, microBatches, firstUnit, chunksPerStage }: ScheduleProblem): SlicedPasses {
  const sliceCount = (microBatch: number): number => (firstUnit[microBatch + 1] ?? 0) - (firstUnit[microBatch] ?? 0);
  const fewest = Array.from({ length: microBatches }, (_, microBatch) => sliceCount(microBatch)).reduce((a, b) => Math.min(a, b), Infinity);
  const rounds = roundCount(stages, microBatches, fewest);
  const forward: SlicePass[] = [];
  const backward: SlicePass[] = [];
  for (let round = 0; round < rounds; round++) {
    const from = Math.ceil((round * microBatches) / rounds);
    const to = Math.ceil(((round + 1) * microBatches) / rounds);
    for (let localChunk = 0; localChunk < chunksPerStage; localChunk++)
      for (let microBatch = from; microBatch < to; microBatch++) {
        const [first, end] = [firstUnit[microBatch] ?? 0, firstUnit[microBatch + 1] ?? 0];
        for (let unit = first; unit < end; unit++) {
          forward.push({ localChunk, unit });
          backward.push({ localChunk: chunksPerStage - 1 - localChunk, unit: first + end - 1 - unit });
        }
      }
  }
  const forwardAt = new Map(forward.map(({ localChunk, unit }, index) => [unit * chunksPerStage + localChunk, index]));
  const ahead = backward.reduce(
    (most, { localChunk, unit }, index) => Math.max(most, (forwardAt.get(unit * chunksPerStage + localChunk) ?? 0) - index),
    0,
  );
  return { forward, backward, ahead };
}

/** As many rounds as can have whole sequences with a slice for every stage; one where there are too few. */
function roundCount(stages: number, microBatches: number, slices: number): number {
  return Math.max(1, Math.floor(microBatches / Math.ceil(stages / slices)));
}

/** Slices done on every chunk of a stage when it begins its first backward, at most those of the first round. @param perHop as above. */
export function slicesOfRound({ stage, stages, microBatches, slices }: StageOfRun, perHop: number): number {
  const inRound = Math.ceil(microBatches / roundCount(stages, microBatches, slices)) * slices;
  return Math.min(inRound, slices + perHop * (stages - 1 - stage));
}
