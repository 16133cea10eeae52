import { stagesBehindInFlight, type ScheduleKind } from '../kind';
import { scheduleRounds, unmetRounds, warmUpPasses } from '../rounds';
import { operationKind } from '../schedule';

/** ZB1P over several chunks (arXiv 2401.10241), in the order of PyTorch's ScheduleInterleavedZeroBubble (torch 2.14). */
export const interleavedZeroBubble: ScheduleKind = {
  name: 'InterleavedZeroBubble',
  placement: 'loop',
  chunksPerStage: 'several',
  slices: false,
  sliced: false,
  planned: false,
  splitsBackward: true,
  splitIn: ['pytorch'],
  postValidated: false,
  bound: 'order',
  slicesInFlight: stagesBehindInFlight,
  unmet: unmetRounds,
  order: (problem) => {
    const rounds = scheduleRounds(problem);
    const { passes, forward, backward } = rounds;
    return (stage, emit) => {
      const warmUp = warmUpPasses(rounds, problem, stage, 1);
      // A later stage lets more input gradients go ahead of their weight gradients.
      for (let index = 0; index < passes + warmUp + stage; index++) {
        if (index < passes) {
          const { chunk, microBatch } = forward(stage, index);
          emit(operationKind.forward, chunk, microBatch);
        }
        const input = index - warmUp;
        if (input >= 0 && input < passes) {
          const { chunk, microBatch } = backward(stage, input);
          emit(operationKind.backwardInput, chunk, microBatch);
        }
        if (input >= stage) {
          const { chunk, microBatch } = backward(stage, input - stage);
          emit(operationKind.backwardWeight, chunk, microBatch);
        }
      }
    };
  },
};
