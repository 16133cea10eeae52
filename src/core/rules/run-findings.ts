import type { Run } from '../formats/run';
import type { ExpectedError } from '../errors';
import type { Finding, Severity } from '../findings';
import type { Place } from '../spec/located';
import { planRules } from './table';
import { sharedFindings } from './plan/shared';
import type { Plan } from '../planner/plan';
import type { Remedy } from './plan/remedies';

const severityOrder: Readonly<Record<Severity, number>> = { error: 0, warning: 1, information: 2 };

/**
 * Everything worth saying about a run, most severe first: what its files say against each other, and, with a plan, whether it fits. Each is at the value
 * it is about, or at `run.place` when no file gives that value.
 * @param remedies of a plan that does not fit, as `remediesFor` finds them; they take plans of their own, so that they come after it.
 */
export function findingsOf(run: Run, plan: Plan | null, remedies: readonly Remedy[] = []): Finding[] {
  const findings = [...sharedFindings(run), ...planRules.flatMap(({ check }) => check(run, plan, remedies)), ...(run.remarks ?? [])];
  return findings.sort((a, b) => severityOrder[a.severity] - severityOrder[b.severity]);
}

/** A model of a kind that is not read or not planned: nothing that the user has to mend. */
export function isOfAnotherKind({ code }: ExpectedError): boolean {
  return code === 'config-unknown-model-type' || code === 'model-not-planned';
}

/**
 * An error as the one finding of a file that cannot be read or planned; `fallback` is its place when it has none. A model of a family we do not read is
 * nothing wrong with the file, so only information.
 */
export function findingOfError(error: ExpectedError, fallback: Place): Finding {
  return {
    code: error.code,
    severity: isOfAnotherKind(error) ? 'information' : 'error',
    place: error.place ?? fallback,
    message: error.message,
    remedy: error.remedy,
    fixes: [],
  };
}
