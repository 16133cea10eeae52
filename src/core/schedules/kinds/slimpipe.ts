import type { ScheduleKind } from '../kind';
import { slicedOrder, slicesOfRound } from '../sliced-rounds';

/**
 * SlimPipe (Li et al. 2025, arXiv 2504.14519): equal slices in 1F1B, each stage two further slices ahead for every stage behind it, so that
 * all stages run forward at one time and backward at another. At each such time they share out the attention of their slices
 * (docs/model/schedules.md, Attention exchanged), and the head and the loss all the time.
 */
export const slimPipe: ScheduleKind = {
  name: 'SlimPipe',
  placement: 'one',
  chunksPerStage: 1,
  slices: true,
  sliced: true,
  mostSlices: 256,
  exchangesAttention: true,
  planned: false,
  splitsBackward: false,
  postValidated: false,
  bound: 'work',
  slicesInFlight: (run) => slicesOfRound(run, 2),
  unmet: () => null,
  order: (problem) => slicedOrder(problem, { perHop: 2, splits: false }),
};
