import type { CancelSignal } from '../errors';
import { coveringAssumed } from '../planner/explain/assumed';
import type { PlanRequest } from '../domain/request';
import type { CostProvenance } from '../domain/slice-cost';
import { requestOf } from './request-of';
import type { FoundPlan } from './result';

/** The error bars of a layout, whose range covers what is assumed, too, as a plan of it states them. */
export function statedCost(request: PlanRequest, found: FoundPlan, cost: CostProvenance, signal: CancelSignal | undefined): CostProvenance {
  const { scheme, iterationMs } = found;
  return coveringAssumed(cost, requestOf(request, found), { schedule: found.point.schedule, scheme, iterationMs }, signal);
}
