import { plansOf } from '../../core/layout-search/plans';
import { searchProblemOf } from '../../core/layout-search/problem';
import { requestOf } from '../../core/layout-search/request-of';
import type { LayoutSearchHost } from './layout-search-host';

/** What is searched for a config, and what a plan of the answer asks. */
export const layoutQuestions: Pick<LayoutSearchHost, 'problemOf' | 'requestAt'> = {
  problemOf: ({ run, format }, { request }) => {
    if (run === null || format === 'pytorch-schedule') throw new Error('a planned config has a run');
    return searchProblemOf(run, request);
  },
  requestAt: (result, index) => {
    const listed = plansOf(result)[index];
    return listed === undefined ? null : requestOf(result.request, listed.plan);
  },
};
