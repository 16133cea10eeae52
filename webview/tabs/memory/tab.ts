import type { Tab } from '../../base/tab';
import { t } from '../../base/strings';
import { makeMemoryView } from './view';

/** Bars per stage, and the lane under the timeline. */
export const memoryTab: Tab = {
  label: () => t('Memory'),
  make: makeMemoryView,
};
