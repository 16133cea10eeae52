import type { CancelSignal } from '../errors';
import { coveringAssumed } from '../planner/assumed';
import type { PlanRequest } from '../spec/request';
import type { CostProvenance } from '../spec/slice-cost';
import { requestOf } from './request-of';
import type { FoundPlan } from './result';

/** The range of step times of a layout that covers what is assumed, too, as a plan of it states it. */
export function statedRange(
  request: PlanRequest,
  found: FoundPlan,
  { range }: Pick<CostProvenance, 'range'>,
  signal: CancelSignal | undefined,
): CostProvenance['range'] {
  const { scheme, iterationMs } = found;
  return coveringAssumed(range, requestOf(request, found), { schedule: found.point.schedule, scheme, iterationMs }, signal);
}
