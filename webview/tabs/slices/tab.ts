import { chosenCandidate } from '../../../src/core/planner/plan';
import { t } from '../../base/strings';
import { shownCandidate } from '../../base/store';
import type { Tab } from '../../base/tab';

/** The sequence cut as the paper draws it. */
export const slicesTab: Tab = {
  label: () => t('Slices'),
  isOffered: ({ plan }, view) => {
    if (plan === null) return false;
    const candidates = [chosenCandidate(plan), shownCandidate(plan, view)];
    // Whole sequences: the timeline leads here where there is one.
    return (
      view.tab === 'slices' ||
      candidates.some(({ scheme, timeline }) => timeline === null || scheme.some(({ tokens }) => tokens.length > 1))
    );
  },
  load: async () => (await import('./view')).makeSlicesView,
};
