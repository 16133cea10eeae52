import type { ScheduleKind } from '../kind';
import { plannerUnmet, automaticOrder } from '../zero-bubble/automatic-order';

/**
 * As `ZeroBubble`, on two chunks a stage in a V: activations of the last chunks are short-lived, which leaves room (arXiv 2405.15362), by a
 * search of our own (`../zero-bubble/automatic-search`).
 */
export const zeroBubbleV: ScheduleKind = {
  name: 'ZeroBubbleV',
  placement: 'v',
  chunksPerStage: 2,
  slices: false,
  sliced: false,
  planned: true,
  splitsBackward: true,
  splitIn: ['megatron', 'pytorch'],
  postValidated: true,
  judgedAs: 'ZBVZeroBubble',
  bound: 'room',
  slicesInFlight: () => 1,
  unmet: plannerUnmet(2),
  order: (problem) => automaticOrder(problem, 2),
};
