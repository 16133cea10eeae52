import type { ScheduleKind } from '../kind';
import { plannerUnmet, automaticOrder } from '../zero-bubble/automatic-order';

/** Automatic scheduling of arXiv 2401.10241, section 3, by a search of our own (`../zero-bubble/automatic-search`). */
export const zeroBubble: ScheduleKind = {
  name: 'ZeroBubble',
  placement: 'one',
  chunksPerStage: 1,
  slices: false,
  sliced: false,
  planned: true,
  splitsBackward: true,
  splitIn: ['megatron', 'pytorch'],
  postValidated: true,
  judgedAs: '1F1B',
  bound: 'room',
  slicesInFlight: () => 1,
  unmet: plannerUnmet(1),
  order: (problem) => automaticOrder(problem, 1),
};
