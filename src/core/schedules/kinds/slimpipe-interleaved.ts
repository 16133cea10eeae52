import type { ScheduleKind } from '../kind';
import { slicedOrder, slicesOfRound } from '../sliced-rounds';

/** SlimPipe on virtual stages (arXiv 2504.14519): the slices of a round go through every chunk of a stage before the next round starts. */
export const slimPipeInterleaved: ScheduleKind = {
  name: 'SlimPipe-I',
  placement: 'loop',
  chunksPerStage: 'several',
  slices: true,
  sliced: true,
  mostSlices: 256,
  exchangesAttention: true,
  planned: false,
  splitsBackward: false,
  postValidated: false,
  interleaves: 'SlimPipe',
  bound: 'work',
  slicesInFlight: (run) => slicesOfRound(run, 2),
  unmet: () => null,
  order: (problem) => slicedOrder(problem, { perHop: 2, splits: false }),
};
