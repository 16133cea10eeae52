import type { ScheduleKind } from '../kind';
import { plannedOrder, plannerUnmet } from '../zero-bubble/planned';

/** Automatic scheduling of arXiv 2401.10241, section 3, by a search of our own (`../zero-bubble/plan`). */
export const zeroBubble: ScheduleKind = {
  name: 'ZeroBubble',
  placement: 'one',
  chunksPerStage: 1,
  slices: false,
  sliced: false,
  planned: true,
  splitsBackward: true,
  postValidated: true,
  unmet: plannerUnmet,
  order: (problem) => plannedOrder(problem, 1),
};
