import type { ScheduleKind } from '../kind';
import { plannedOrder, plannerUnmet } from '../zero-bubble/planned';

/** As `ZeroBubble`, on two chunks a stage in a V: activations of the last chunks are short-lived, which leaves room (arXiv 2405.15362), by a search of our own (`../zero-bubble/plan`). */
export const zeroBubbleV: ScheduleKind = {
  name: 'ZeroBubbleV',
  about:
    'Planned for the given times under the memory limit, two chunks a stage in a V (as Zero Bubble, 2023, and Controllable Memory, 2024).',
  placement: 'v',
  chunksPerStage: 2,
  slices: false,
  splitsBackward: true,
  unmet: plannerUnmet,
  order: (problem) => plannedOrder(problem, 2),
};
