import type { Layout } from '../domain/request';
import type { ScheduleName } from '../domain/schedule-names';
import type { ScheduleKind } from './kind';
import { interleavingOf, scheduleKind } from './registry';

/** The same kind without its chunks, for those who ask often. */
export function traitsFor(schedule: ScheduleName, { virtualStages }: Pick<Layout, 'virtualStages'>): ScheduleKind {
  return (virtualStages > 1 ? interleavingOf(schedule) : undefined) ?? scheduleKind(schedule);
}

/** The name by which launchers and candidates ask for a schedule on a layout: on virtual stages interleaved 1F1B is 1F1B. */
export function plainName(schedule: ScheduleName, { virtualStages }: Pick<Layout, 'virtualStages'>): ScheduleName {
  return (virtualStages > 1 ? scheduleKind(schedule).interleaves : undefined) ?? schedule;
}
