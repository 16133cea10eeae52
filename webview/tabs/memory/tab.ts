import type { Tab } from '../../base/tab';
import { t } from '../../base/strings';

/** The peak of each stage as a bar, by its parts. */
export const memoryTab: Tab = {
  label: () => t('Memory'),
  showsCompared: true,
  load: async () => (await import('./view')).makeMemoryView,
};
