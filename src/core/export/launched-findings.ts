import type { Finding } from '../findings';
import type { Run } from '../run/run';
import type { Plan } from '../planner/plan';
import { formatFindings } from '../rules/plan/format-findings';
import { memoryFindings } from '../rules/plan/memory-findings';
import type { Remedy } from '../rules/plan/remedy';
import { settingEdits, type Launched } from './launchers/memory-fixes';
import { sliceFindings } from './slices/slice-findings';

/**
 * Findings on the plan of a launcher's file, which its own rules do not: that its GPUs do not compute its number format, that it does not
 * fit (at the flag that decides most about memory), that its slices take longer than others. A remedy is a quick fix where the file can
 * express it: the settings that change, and none else, read back and planned again.
 * @param remedies of the plan, as `remediesFor` finds them. @param launched null: without quick fixes.
 */
export function launchedFindings(
  run: Run,
  plan: Plan | null,
  remedies: readonly Remedy[] = [],
  launched: Launched | null = null,
): readonly Finding[] {
  const editsOf = (remedy: Remedy) => (launched === null ? null : settingEdits(remedy, launched));
  return [...formatFindings(run, plan), ...memoryFindings(run, plan, remedies, editsOf), ...sliceFindings(run, plan, launched)];
}
