import type { Tab } from '../../base/tab';
import { t } from '../../base/strings';

/** The operations of each stage, memory over time, find, the same data as a table. */
export const timelineTab: Tab = {
  label: () => t('Timeline'),
  showsCompared: true,
  load: async () => (await import('./view')).makeTimelineTab,
};
