import type { ScheduleKind } from '../kind';
import { slicedOrder, slicesOfRound } from '../sliced-rounds';

/**
 * Interleaved 1F1B over token slices (arXiv 2406.03488, Seq1F1B-I). Rounds take whole sequences: in the order of its authors' code a round
 * that ends inside a sequence waits for itself.
 */
export const seq1f1bInterleaved: ScheduleKind = {
  name: 'Seq1F1B-I',
  placement: 'loop',
  chunksPerStage: 'several',
  slices: true,
  sliced: true,
  mostSlices: 16,
  planned: false,
  splitsBackward: false,
  postValidated: false,
  interleaves: 'Seq1F1B',
  bound: 'work',
  slicesInFlight: (run) => slicesOfRound(run, 2),
  unmet: () => null,
  order: (problem) => slicedOrder(problem, { perHop: 2, splits: false }),
};
