import type { Tab } from '../../base/tab';
import { t } from '../../base/strings';

/** Level of detail, drawing, mouse and keys, find, the same data as a table, critical path. */
export const timelineTab: Tab = {
  label: () => t('Timeline'),
  showsCompared: true,
  load: async () => (await import('./tab-view')).makeTimelineTab,
};
