import { reportedAssumptions, type Assumption } from '../domain/request';
import type { FoundPlan, SearchResult } from './result';
import { searchKeys } from '../domain/layout-choices';
import { whyLost } from './labels';
import type { Sentence } from '../sentence';

/**
 * What an answer shows a plan as: the best; one of the front of step time against memory; the fastest of its schedule, or of its sizes of
 * parallel groups.
 */
export type PlanRole = 'best' | 'front' | 'schedule' | 'sizes';

/** A plan of an answer, once. */
export interface ListedPlan {
  readonly plan: FoundPlan;
  readonly roles: readonly PlanRole[];
  /** Why it lost, in a sentence; null for the best. */
  readonly why: Sentence | null;
}

/**
 * Every plan of an answer once, fastest first: the best, the front, the fastest of each schedule and the runners-up. An index into this
 * list names a plan of this result.
 */
export function listPlans(result: SearchResult): ListedPlan[] {
  const { best, paretoFront, perSchedule, runnersUp } = result;
  const listed = new Map<string, { plan: FoundPlan; roles: PlanRole[]; why: Sentence | null }>();
  const add = (plan: FoundPlan, role: PlanRole, why: Sentence | null): void => {
    const key = JSON.stringify([plan.name, plan.point]);
    const known = listed.get(key);
    if (known === undefined) listed.set(key, { plan, roles: [role], why });
    else known.roles.push(role);
  };
  add(best, 'best', null);
  for (const plan of paretoFront) add(plan, 'front', whyLost(plan, best));
  for (const plan of perSchedule) add(plan, 'schedule', whyLost(plan, best));
  for (const { plan, why } of runnersUp) add(plan, 'sizes', why);
  return [...listed.values()].sort((a, b) => a.plan.iterationMs - b.plan.iterationMs || a.plan.peakBytes - b.plan.peakBytes);
}

/** Assumptions that a search replaces by its choices. */
const chosenKeys: ReadonlySet<string> = new Set(searchKeys.flatMap((key) => [`layout.${key}`, `training.${key}`]));

/** What no file set and every plan of an answer rests on: assumptions on the machine and the training, except for what the search chose. */
export function assumedBy({ request }: Pick<SearchResult, 'request'>): Assumption[] {
  return reportedAssumptions(request.assumptions).filter(({ key }) => !chosenKeys.has(key));
}
