import { slicesAhead, type ScheduleKind } from '../kind';
import { slicedOrder } from '../sliced-rounds';

/**
 * Seq1F1B with split backward (arXiv 2406.03488, Seq1F1B-ZB): the weight gradients of stage r come r slices after their input gradients, as
 * in ZB1P, so that every stage holds about as much.
 */
export const seq1f1bZb: ScheduleKind = {
  name: 'Seq1F1B-ZB',
  placement: 'one',
  chunksPerStage: 1,
  slices: true,
  sliced: true,
  mostSlices: 16,
  planned: false,
  splitsBackward: true,
  postValidated: false,
  judgedAs: '1F1B',
  bound: 'work',
  slicesInFlight: slicesAhead,
  unmet: () => null,
  order: (problem) => slicedOrder(problem, { perHop: 1, splits: true }),
};
