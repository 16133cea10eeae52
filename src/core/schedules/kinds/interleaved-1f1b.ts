import { stagesBehindInFlight, type ScheduleKind } from '../kind';
import { scheduleRounds, unmetRounds, warmUpPasses } from '../rounds';
import { operationKind } from '../schedule';

/** Interleaved 1F1B (arXiv 2104.04473), in the order of PyTorch's ScheduleInterleaved1F1B (torch 2.14). */
export const interleaved1F1B: ScheduleKind = {
  name: 'Interleaved1F1B',
  placement: 'loop',
  chunksPerStage: 'several',
  slices: false,
  sliced: false,
  planned: false,
  splitsBackward: false,
  postValidated: false,
  interleaves: '1F1B',
  bound: 'interleaved',
  slicesInFlight: stagesBehindInFlight,
  unmet: unmetRounds,
  order: (problem) => {
    const rounds = scheduleRounds(problem);
    return (stage, emit) => {
      const warmUp = warmUpPasses(rounds, problem, stage, 2);
      for (let index = 0; index < rounds.passes + warmUp; index++) {
        if (index < rounds.passes) {
          const { chunk, microBatch } = rounds.forward(stage, index);
          emit(operationKind.forward, chunk, microBatch);
        }
        if (index >= warmUp) {
          const { chunk, microBatch } = rounds.backward(stage, index - warmUp);
          emit(operationKind.backward, chunk, microBatch);
        }
      }
    };
  },
};
