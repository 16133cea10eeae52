import { answerElastic } from '../features/elastic/core/answer';
import { largestThatFits } from '../features/largest/core/largest';
import { explainOom } from '../features/oom/core/answer';
import { answerPrefill, servedRequest } from '../features/prefill/core/answer';
import { preparedRehearsal } from '../features/rehearsal/core/prepare';
import { answerSearch } from '../core/layout-search/answer';
import { resolveRun } from '../core/plan-request/resolve';
import { withSizes } from '../core/plan-request/with-sizes';
import { makePlan } from '../core/planner/make-plan';
import { findRemedies, planRemedy } from '../core/rules/plan/remedies';
import { readScheduleFile } from '../core/schedules/pytorch-csv/schedule-file';
import type { CancelSignal } from '../core/errors';
import type { Evidence } from '../features/oom/core/evidence';
import type { OomSource } from '../features/oom/job';
import type { Planners } from './serve';

/** Operations of a plan's timelines that are sent: some 40 MB in the process that gets them. */
const drawnOperations = 1_000_000;

/** Bisection ends after some dozen plans; after as many the bar has come half way. */
const halfwayTries = 8;

interface Readers {
  /** Compares a plan; a measured run is read where this thread can. */
  readonly compare: Planners['compare'];
  /** Reads what a run left of its memory. */
  readonly readEvidence: (source: OomSource, signal: CancelSignal) => Promise<Evidence>;
}

/** What answers each kind of request of the editor and of pages. */
export function makePlanners({ compare, readEvidence }: Readers): Omit<Planners, 'tool'> {
  return {
    plan: ({ request, first }, { onFirst, ...options }) =>
      makePlan(request, { ...options, ...(first ? { onFirst } : {}), drawnOperations }),
    resolve: ({ run, defaults, found }, { signal }) => resolveRun(run, defaults, found, signal),
    remedies: ({ run, defaults, found, plan }, { signal }) =>
      findRemedies(run, plan, (changed) => planRemedy(changed, plan, { defaults, found, signal }), signal),
    whatIf: ({ run, defaults, found, sets }, { signal }) =>
      makePlan(resolveRun(withSizes(run, sets), defaults, found, signal), { signal, drawnOperations: 0 }),
    elastic: ({ request }, { signal }) => answerElastic(request, signal),
    largest: ({ run, defaults, found, what, isSearched }, { signal, onProgress }) => {
      let tries = 0;
      const onTry = (): void => onProgress(tries / (tries++ + halfwayTries));
      return largestThatFits(run, what, { defaults, found, isSearched, signal, onTry });
    },
    oom: async ({ source, planned }, { signal }) => {
      const evidence = await readEvidence(source, signal);
      if (planned === null) return explainOom(evidence, null);
      const { run, defaults, found, plan } = planned;
      const remedies = findRemedies(run, plan, (changed) => planRemedy(changed, plan, { defaults, found, signal }), signal);
      return explainOom(evidence, { run, plan, remedies, defaults, found, signal });
    },
    prefill: ({ run, defaults, found, model, asked }, { signal }) =>
      answerPrefill(servedRequest(run, asked, defaults, found, signal), model, signal),
    search: ({ problem, improvements }, watching) => answerSearch(problem, { improvements }, watching),
    compare,
    rehearsal: ({ plan, asked, room }) => preparedRehearsal(plan, asked, room),
    schedule: ({ text, file, name }) => readScheduleFile(text, file, name),
  };
}
