import type { Tab } from '../../base/tab';
import { t } from '../../base/strings';
import { makeElasticView } from './view';

/** Epochs of a run that freezes layers, over its GPUs. */
export const elasticTab: Tab = {
  label: () => t('Elastic'),
  isOffered: () => true,
  hasInspector: () => false,
  make: makeElasticView,
};
