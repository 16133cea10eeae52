import type { ScheduleKind } from '../kind';
import { slicedOrder, slicesOfRound } from '../sliced-rounds';

/**
 * Slices, virtual stages and split backward together, as in MEPipe: InterleavedZeroBubble over token slices, whose weight gradients fill
 * idle time.
 */
export const seq1f1bZbInterleaved: ScheduleKind = {
  name: 'Seq1F1B-ZB-I',
  placement: 'loop',
  chunksPerStage: 'several',
  slices: true,
  sliced: true,
  mostSlices: 16,
  planned: false,
  splitsBackward: true,
  postValidated: false,
  interleaves: 'Seq1F1B-ZB',
  bound: 'work',
  slicesInFlight: (run) => slicesOfRound(run, 1),
  unmet: () => null,
  order: (problem) => slicedOrder(problem, { perHop: 1, splits: true }),
};
