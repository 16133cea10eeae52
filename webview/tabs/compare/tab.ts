import type { Tab } from '../../base/tab';
import { t } from '../../base/strings';
import { makeCompareView } from './view';

/** Candidates, and another plan or run, at one time scale. */
export const compareTab: Tab = {
  label: () => t('Compare'),
  hasInspector: ({ comparison }) => comparison === null,
  make: (store, { onHelp }) => makeCompareView(store, onHelp),
};
