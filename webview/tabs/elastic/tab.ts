import type { Tab } from '../../base/tab';
import { t } from '../../base/strings';

/** Epochs of a run that freezes layers, over its GPUs. */
export const elasticTab: Tab = {
  label: () => t('Elastic'),
  isOffered: () => true,
  hasInspector: () => false,
  load: async () => (await import('./view')).makeElasticView,
};
