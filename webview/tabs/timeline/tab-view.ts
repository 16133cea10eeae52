import { shownCandidate } from '../../base/store';
import type { MakeTabView } from '../../base/tab';
import { makeTimelineActions } from './actions';
import { makeTimelineView } from './view';

/** The timeline with its buttons. */
export const makeTimelineTab: MakeTabView = (store, { onHelp }) => {
  const { element, update, act, fitAll, openFind, nodes } = makeTimelineView(store);
  const actions = makeTimelineActions(store, { fit: fitAll, find: openFind, nodes, help: onHelp });
  return {
    element,
    act,
    actions: actions.elements,
    update: (change) => {
      const { plan } = store.state();
      actions.update(plan !== null && shownCandidate(plan, store.view()).timeline !== null);
      update(change);
    },
  };
};
