import { stagesBehindInFlight, emitBackward, emitForward, type ScheduleKind } from '../kind';

/**
 * kFkB (Ada-Grouper, arXiv 2303.01675): 1F1B over groups of k micro-batches. All of a group go forward one after another, then all of one
 * backward, so that the next stage works on one of them while another is sent. Takes k times the memory of 1F1B, which is k = 1.
 */
export const kForwardKBackward: ScheduleKind = {
  name: 'kFkB',
  placement: 'one',
  chunksPerStage: 1,
  slices: false,
  sliced: false,
  grouped: true,
  planned: false,
  splitsBackward: false,
  postValidated: false,
  bound: 'work',
  slicesInFlight: stagesBehindInFlight,
  unmet: () => null,
  order: (problem) => (stage, emit) => {
    const { stages, microBatches, groupedMicroBatches: size = 1 } = problem;
    const groups = Math.ceil(microBatches / size);
    const ahead = Math.min(stages - stage - 1, groups);
    const each = (group: number, pass: typeof emitForward): void => {
      const end = Math.min((group + 1) * size, microBatches);
      for (let microBatch = group * size; microBatch < end; microBatch++) pass(problem, emit, stage, microBatch);
    };
    for (let group = 0; group < groups + ahead; group++) {
      if (group < groups) each(group, emitForward);
      if (group >= ahead) each(group - ahead, emitBackward);
    }
  },
};
