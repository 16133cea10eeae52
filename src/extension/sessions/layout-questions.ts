import { plansOf } from '../../core/layout-search/plans';
import { freeNames, searchProblemOf } from '../../core/layout-search/problem';
import { requestOf } from '../../core/layout-search/request-of';
import { isLauncher } from '../../core/formats/registry';
import type { LayoutSearchHost } from './layout-search-host';

/**
 * What is searched for a config, and what a plan of the answer asks. A launcher's file fixes its whole layout: its search lets go of all
 * that it may choose. What a `terapipe.json` fixes stays.
 */
export const layoutQuestions: Pick<LayoutSearchHost, 'problemOf' | 'requestAt'> = {
  problemOf: ({ run, format }, { request }) => {
    if (run === null || format === 'pytorch-schedule') throw new Error('a planned config has a run');
    return searchProblemOf(run, request, isLauncher(format) ? freeNames.all : []);
  },
  requestAt: (result, index) => {
    const listed = plansOf(result)[index];
    return listed === undefined ? null : requestOf(result.request, listed.plan);
  },
};
