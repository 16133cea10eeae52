import { allInFlight, emitBackward, emitForward, type ScheduleKind } from '../kind';

/** GPipe (Huang et al. 2019, arXiv 1811.06965). Backward from the first micro-batch on, as PyTorch's ScheduleGPipe. */
export const gpipe: ScheduleKind = {
  name: 'GPipe',
  placement: 'one',
  chunksPerStage: 1,
  slices: true,
  sliced: false,
  planned: false,
  splitsBackward: false,
  postValidated: false,
  judgedAs: '1F1B',
  bound: 'drained',
  slicesInFlight: allInFlight,
  unmet: () => null,
  order: (problem) => (stage, emit) => {
    for (let microBatch = 0; microBatch < problem.microBatches; microBatch++) emitForward(problem, emit, stage, microBatch);
    for (let microBatch = 0; microBatch < problem.microBatches; microBatch++) emitBackward(problem, emit, stage, microBatch);
  },
};
