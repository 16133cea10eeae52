import { allInFlight, emitBackward, emitForward, type ScheduleKind } from '../kind';

/**
 * TeraPipe (Li et al. 2021, arXiv 2102.07988): as its runtime runs, backward in exactly the reverse order of forward; in rounds where the
 * scheme has some.
 */
export const terapipe: ScheduleKind = {
  name: 'TeraPipe',
  placement: 'one',
  chunksPerStage: 1,
  slices: true,
  sliced: true,
  mostSlices: 64,
  planned: false,
  splitsBackward: false,
  postValidated: false,
  ownRuntime: 'terapipe',
  judgedAs: '1F1B',
  bound: 'drained',
  slicesInFlight: allInFlight,
  unmet: () => null,
  order: (problem) => (stage, emit) => {
    let first = 0;
    for (const microBatches of problem.rounds ?? [problem.microBatches]) {
      const end = first + microBatches;
      for (let microBatch = first; microBatch < end; microBatch++) emitForward(problem, emit, stage, microBatch);
      for (let microBatch = end - 1; microBatch >= first; microBatch--) emitBackward(problem, emit, stage, microBatch);
      first = end;
    }
  },
};
