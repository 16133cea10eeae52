import { shownCandidate } from '../../base/store';
import type { Tab } from '../../base/tab';
import { t } from '../../base/strings';
import { makeTimelineActions } from './actions';
import { makeTimelineView } from './view';

/** Level of detail, drawing, mouse and keys, find, the same data as a table, critical path. */
export const timelineTab: Tab = {
  label: () => t('Timeline'),
  make: (store, { onHelp }) => {
    const { element, update, type, fitAll, openFind } = makeTimelineView(store, onHelp);
    const actions = makeTimelineActions(store, { fit: fitAll, find: openFind, help: onHelp });
    return {
      element,
      type,
      actions: actions.elements,
      update: (change) => {
        const { plan } = store.state();
        actions.update(plan !== null && shownCandidate(plan, store.view()).timeline !== null);
        update(change);
      },
    };
  },
};
