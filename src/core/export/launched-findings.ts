import type { Finding } from '../findings';
import type { Run } from '../formats/run';
import type { Plan } from '../planner/plan';
import { formatFindings } from '../rules/plan/format-findings';
import type { Remedy } from '../rules/plan/remedy';
import { launchedMemoryFindings, type Launched } from './launchers/memory-fixes';
import { sliceFindings } from './slices/slice-findings';

/**
 * What there is to say of the plan of a launcher's file, which its own rules do not: that its GPUs do not compute its number format, that
 * it does not fit, that its slices take longer than others.
 * @param remedies of the plan, as `remediesFor` finds them. @param launched null: without quick fixes.
 */
export function launchedFindings(
  run: Run,
  plan: Plan | null,
  remedies: readonly Remedy[] = [],
  launched: Launched | null = null,
): readonly Finding[] {
  return [...formatFindings(run, plan), ...launchedMemoryFindings(run, plan, remedies, launched), ...sliceFindings(run, plan, launched)];
}
