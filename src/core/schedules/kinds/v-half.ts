import { emitBlocks } from '../building-block';
import type { ScheduleKind } from '../kind';

/**
 * V-Half (arXiv 2405.15362, section 3.2): a micro-batch goes down the V at half the speed at which it goes up, which leaves about half of
 * 1F1B's activations on every stage. Starts as in the authors' own (sail-sg/zero-bubble-pipeline-parallelism, `zbv_greedy.py`); for an even
 * number of stages backward waits so that no two passes meet.
 */
export const vHalf: ScheduleKind = {
  name: 'V-Half',
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
    const wait = stages % 2 === 0 ? 3 : 0;
    return (stage, emit) => {
      emitBlocks(
        stage,
        problem,
        [2 * stage, 3 * stages - 2 - stage, 3 * stages + wait - 1 + 2 * stage, 6 * stages + wait - 2 - stage],
        emit,
      );
    };
  },
};
