import type { Tab } from '../../base/tab';
import { t } from '../../base/strings';
import { makeProfileView } from './view';

/** Measured times against their fit. */
export const profileTab: Tab = {
  label: () => t('Profile'),
  make: makeProfileView,
};
