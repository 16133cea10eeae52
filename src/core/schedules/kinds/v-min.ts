import { emitBlocks } from '../building-block';
import type { ScheduleKind } from '../kind';

/**
 * V-Min (arXiv 2405.15362, section 3.2): a micro-batch goes down and up the V and back without a stop, which leaves about a third of 1F1B's
 * activations on every stage. Starts as in the authors' own (sail-sg/zero-bubble-pipeline-parallelism, `zbv_greedy.py`); where three
 * divides the stages, backward waits so that no two passes meet.
 */
export const vMin: ScheduleKind = {
  name: 'V-Min',
  placement: 'v',
  chunksPerStage: 2,
  slices: false,
  sliced: false,
  planned: false,
  splitsBackward: true,
  splitIn: ['megatron'],
  postValidated: true,
  bound: 'order',
  slicesInFlight: () => 1,
  unmet: () => null,
  order: (problem) => {
    const { stages } = problem;
    const wait = stages % 3 === 0 ? 2 : 0;
    return (stage, emit) => {
      emitBlocks(stage, problem, [stage, 2 * stages - 1 - stage, 2 * stages + wait + stage, 4 * stages + wait - 1 - stage], emit);
    };
  },
};
