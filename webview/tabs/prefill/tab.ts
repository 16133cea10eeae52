import type { Tab } from '../../base/tab';
import { t } from '../../base/strings';
import { makePrefillView } from './view';

/** Chunks of a prompt, their way down the stages, and what rules and engines lose. */
export const prefillTab: Tab = {
  label: () => t('Prefill'),
  isOffered: (state) => state.plan !== null && state.prefill !== null,
  hasInspector: () => false,
  make: makePrefillView,
};
