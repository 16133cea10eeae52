import type { Tab } from '../../base/tab';
import { t } from '../../base/strings';

/** Measured times against their fit. */
export const profileTab: Tab = {
  label: () => t('Profile'),
  load: async () => (await import('./view')).makeProfileView,
};
