/** Schedules that the planner chooses among when none is named: what TeraPipe's runtime and common launchers run as they are. */
export const plannedSchedules = ['TeraPipe', 'GPipe', '1F1B'] as const;

/** The others that a config may name, as `registry.ts` has them. */
export const otherSchedules = [
  'Interleaved1F1B', 'LoopedBFS', 'InterleavedZeroBubble', 'ZBVZeroBubble', 'V-Half', 'V-Min', 'DualPipeV',
  'ZB-H1', 'ZB-H2', 'ZeroBubble', 'ZeroBubbleV', 'Seq1F1B',
] as const; // prettier-ignore

/** What launchers run unless their files say otherwise. */
export const usualSchedule: ScheduleName = '1F1B';

/** Every schedule that a config may name. */
export const namedSchedules = [...plannedSchedules, ...otherSchedules] as const;
export type ScheduleName = (typeof namedSchedules)[number];
