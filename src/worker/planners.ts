import { answerElastic } from '../features/elastic/core/answer';
import { answerPrefill, servedRequest } from '../features/prefill/core/answer';
import { preparedRehearsal } from '../features/rehearsal/core/prepare';
import { answerSearch } from '../core/layout-search/answer';
import { resolveRun } from '../core/plan-request/resolve';
import { withSizes } from '../core/plan-request/with-sizes';
import { makePlan } from '../core/planner/make-plan';
import { findRemedies, planRemedy } from '../core/rules/plan/remedies';
import { readScheduleFile } from '../core/schedules/pytorch-csv/schedule-file';
import type { Planners } from './serve';

/** Operations of a plan's timelines that are sent: some 40 MB in the process that gets them. */
const drawnOperations = 1_000_000;

/**
 * What answers each kind of request of the editor and of pages. @param compare compares a plan; a measured run is read where this thread
 * can.
 */
export function makePlanners(compare: Planners['compare']): Omit<Planners, 'tool'> {
  return {
    plan: ({ request, first }, { onFirst, ...options }) =>
      makePlan(request, { ...options, ...(first ? { onFirst } : {}), drawnOperations }),
    resolve: ({ run, defaults, found }, { signal }) => resolveRun(run, defaults, found, signal),
    remedies: ({ run, defaults, found, plan }, { signal }) =>
      findRemedies(run, plan, (changed) => planRemedy(changed, plan, { defaults, found, signal }), signal),
    whatIf: ({ run, defaults, found, sets }, { signal }) =>
      makePlan(resolveRun(withSizes(run, sets), defaults, found, signal), { signal, drawnOperations: 0 }),
    elastic: ({ request }, { signal }) => answerElastic(request, signal),
    prefill: ({ run, defaults, found, model, asked }, { signal }) =>
      answerPrefill(servedRequest(run, asked, defaults, found, signal), model, signal),
    search: ({ problem, improvements }, watching) => answerSearch(problem, { improvements }, watching),
    compare,
    rehearsal: ({ plan, asked, room }) => preparedRehearsal(plan, asked, room),
    schedule: ({ text, file, name }) => readScheduleFile(text, file, name),
  };
}
