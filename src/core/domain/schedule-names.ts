/** The schedules that every plan compares first. */
export const plannedSchedules = ['TeraPipe', 'GPipe', '1F1B'] as const;

/** The others that plans are compared with, as `registry.ts` has them. */
export const otherSchedules = [
  'Interleaved1F1B', 'LoopedBFS', 'InterleavedZeroBubble', 'ZBVZeroBubble', 'V-Half', 'V-Min', 'DualPipeV',
  'ZB-H1', 'ZB-H2', 'ZeroBubble', 'ZeroBubbleV', 'Seq1F1B',
] as const; // prettier-ignore

/**
 * Those that are planned and searched only where they are asked for by name: no launcher runs them, and choosing their slices or groups
 * takes long.
 */
export const askedSchedules = [
  'Seq1F1B-I', 'Seq1F1B-ZB', 'Seq1F1B-ZB-I', 'SlimPipe', 'SlimPipe-I', 'kFkB', 'BPipe', 'GIS', 'PO-H', 'PO-F',
] as const; // prettier-ignore

/** What plans compare, and what searches try where all are asked for. */
export const comparedSchedules = [...plannedSchedules, ...otherSchedules] as const;

/** What launchers run unless set otherwise. */
export const usualSchedule: ScheduleName = '1F1B';

/** Every schedule that a config may name. */
export const namedSchedules = [...plannedSchedules, ...otherSchedules, ...askedSchedules] as const;
export type ScheduleName = (typeof namedSchedules)[number];

/** What to choose a schedule from: names, or all that plans and searches compare. */
export type ScheduleChoices = readonly ScheduleName[] | 'all';
