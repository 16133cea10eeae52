import type { Tab } from '../../base/tab';
import { t } from '../../base/strings';

/** What a search of layouts found. */
export const layoutTab: Tab = {
  label: () => t('Layout'),
  isOffered: ({ plan, layout = null }) => plan !== null && layout !== null,
  hasInspector: () => false,
  load: async () => (await import('./view')).makeLayoutView,
};
