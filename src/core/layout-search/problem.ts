import type { Run } from '../formats/run';
import { abilitiesOf } from './abilities';
import type { PlanRequest } from '../spec/request';
import { fixedBy } from './space';
import { searchKeys, type SearchKey, type SearchProblem } from './search-problem';

/** Choices that trade time for memory, which `layout` leaves as the files have them. */
const memoryKeys: readonly SearchKey[] = ['recompute', 'zeroStage', 'offloadOptimizer'];

/** Names that stand for several choices: sizes of groups, micro-batch, stages and schedule; and those with recompute, ZeRO and offload. */
export const freeNames: Readonly<Record<'layout' | 'all', readonly SearchKey[]>> = {
  layout: searchKeys.filter((key) => !memoryKeys.includes(key)),
  all: searchKeys,
};

/**
 * The search that a run asks for: what its files fix stays, and model, cluster, sequence length, global batch, precision and optimizer always do.
 *
 * @param request the run, resolved.
 * @param free choices that are searched though files fix them. ZeRO 2 and 3 stay all the same: what they exchange in every micro-batch is not timed, so that leaving them would look like a loss.
 */
export function searchProblemOf(run: Run, request: PlanRequest, free: readonly SearchKey[] = []): SearchProblem {
  const { schedules, kept } = abilitiesOf(run);
  const released = new Set(free.filter((key) => key !== 'zeroStage' || request.training.zeroStage < 2));
  const fixed = [...fixedBy(run)].filter((key) => !released.has(key));
  return {
    request,
    fixed: new Set([...fixed, ...kept]),
    ...(schedules === null ? {} : { schedules }),
    ...(run.layout.tensor !== undefined && run.layout.pipeline !== undefined ? { launched: true } : {}),
  };
}
