import type { Tab } from '../../base/tab';
import { t } from '../../base/strings';

/** Candidates, and another plan or run, at one time scale. */
export const compareTab: Tab = {
  label: () => t('Compare'),
  hasInspector: ({ comparison = null }) => comparison === null,
  drawsCandidates: true,
  load: async () => {
    const { makeCompareView } = await import('./view');
    return makeCompareView;
  },
};
