import type { PlanRequest } from '../spec/request';
import type { ScheduleName } from '../spec/schedule-names';
import type { Sentence } from '../sentence';
import { scheduleDescriptions } from './descriptions';
import { scheduleKind, schedulesOf } from './registry';

/**
 * What a schedule needs to run that neither the usual launchers are nor the runtime that the files name: `a runtime that splits backward,
 * such as TorchTitan's`; null for nothing. A runtime runs what it is asked for by name.
 */
export function neededFor(
  name: ScheduleName,
  { schedule, training: { runtime } }: Pick<PlanRequest, 'schedule' | 'training'>,
): Sentence | null {
  const isAskedFor = name === schedule || (runtime !== undefined && schedulesOf(runtime).includes(name));
  const isOwn = runtime !== undefined && isAskedFor && scheduleKind(name).runtimes.includes(runtime);
  return isOwn ? null : scheduleDescriptions[name].needs;
}
