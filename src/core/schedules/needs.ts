import { anyOf, type Value } from '../sentence';
import type { PlanRequest } from '../domain/request';
import { runtimeOf, type Runtime } from '../domain/runtime';
import type { ScheduleName } from '../domain/schedule-names';
import { scheduleDescriptions } from './descriptions';

/** What decides which schedules run: the runtime that the plan is costed for, and the schedule that a launcher's file names. */
export type RunBy = Pick<PlanRequest, 'launches' | 'training'>;

/** Whether the runtime that a request is costed for runs a schedule; a launcher runs what its own file names. */
export function isRun(name: ScheduleName, { launches, training }: RunBy): boolean {
  return name === launches || scheduleDescriptions[name].runtimes.includes(runtimeOf(training).id);
}

/** What runs a schedule that the costed runtime does not run, as a noun: `TorchTitan`; null where it does. */
export function neededFor(name: ScheduleName, request: RunBy): Value | null {
  if (isRun(name, request)) return null;
  const { runtimes, elsewhere } = scheduleDescriptions[name];
  const shortName = (runtime: Runtime): string => runtimeOf({ runtime }).shortName;
  return anyOf([...runtimes.map(shortName), ...(elsewhere === null ? [] : [elsewhere])]);
}
