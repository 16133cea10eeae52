import type { Tab } from '../../base/tab';
import { t } from '../../base/strings';

/** Epochs of a run that freezes layers, over its GPUs. */
export const elasticTab: Tab = {
  label: () => t('Elastic'),
  isOffered: ({ elastic }, { tab }) => elastic !== null || tab === 'elastic',
  hasInspector: () => false,
  load: async () => (await import('./view')).makeElasticView,
};
