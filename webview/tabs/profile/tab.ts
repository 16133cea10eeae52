import type { Tab } from '../../base/tab';
import { t } from '../../base/strings';

/** Measured times against their fit. */
export const profileTab: Tab = {
  label: () => t('Profile'),
  // a page in a browser measures nothing
  isOffered: ({ plan }) => plan !== null && document.body.dataset['host'] !== 'browser',
  load: async () => (await import('./view')).makeProfileView,
};
