import type { Tab } from '../../base/tab';
import { t } from '../../base/strings';
import { makeSlicesView } from './view';

/** The sequence cut as the paper draws it. */
export const slicesTab: Tab = {
  label: () => t('Slices'),
  make: makeSlicesView,
};
