import type { Tab } from '../../base/tab';
import { t } from '../../base/strings';

/** Bars per stage, and the lane under the timeline. */
export const memoryTab: Tab = {
  label: () => t('Memory'),
  showsCompared: true,
  load: async () => (await import('./view')).makeMemoryView,
};
