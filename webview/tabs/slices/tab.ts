import type { Tab } from '../../base/tab';
import { t } from '../../base/strings';

/** The sequence cut as the paper draws it. */
export const slicesTab: Tab = {
  label: () => t('Slices'),
  load: async () => (await import('./view')).makeSlicesView,
};
