import type { Tab } from '../../base/tab';
import { t } from '../../base/strings';

/** Chunks of a prompt, their way down the stages, and what rules and engines lose. */
export const prefillTab: Tab = {
  label: () => t('Prefill'),
  isOffered: ({ plan, prefill = null }) => plan !== null && prefill !== null,
  hasInspector: () => false,
  load: async () => (await import('./view')).makePrefillView,
};
