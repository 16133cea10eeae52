import { stagesBehindInFlight, emitBackward, emitForward, type ScheduleKind } from '../kind';

/**
 * 1F1B, also called PipeDream-flush and DAPPLE: stage s runs `stages - s - 1` micro-batches ahead (Narayanan et al. 2021, arXiv 2104.04473,
 * section 2.2.1).
 */
export const oneForwardOneBackward: ScheduleKind = {
  name: '1F1B',
  placement: 'one',
  chunksPerStage: 1,
  slices: true,
  sliced: false,
  planned: false,
  splitsBackward: false,
  postValidated: false,
  bound: 'alternating',
  slicesInFlight: stagesBehindInFlight,
  unmet: () => null,
  order: (problem) => (stage, emit) => {
    const { stages, microBatches } = problem;
    const ahead = Math.min(stages - stage - 1, microBatches);
    for (let microBatch = 0; microBatch < microBatches + ahead; microBatch++) {
      if (microBatch < microBatches) emitForward(problem, emit, stage, microBatch);
      if (microBatch >= ahead) emitBackward(problem, emit, stage, microBatch - ahead);
    }
  },
};
