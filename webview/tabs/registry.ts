import type { Tab } from '../base/tab';
import { compareTab } from './compare/tab';
import { elasticTab } from './elastic/tab';
import { layoutTab } from './layout/tab';
import { memoryTab } from './memory/tab';
import { prefillTab } from './prefill/tab';
import { profileTab } from './profile/tab';
import { slicesTab } from './slices/tab';
import { timelineTab } from './timeline/tab';

/** Every tab by its id, in the order of the bar. */
export const tabs: Readonly<Record<string, Tab>> = {
  timeline: timelineTab,
  memory: memoryTab,
  slices: slicesTab,
  compare: compareTab,
  layout: layoutTab,
  profile: profileTab,
  prefill: prefillTab,
  elastic: elasticTab,
};
