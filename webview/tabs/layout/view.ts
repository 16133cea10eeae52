import { fill, h } from '../../base/dom';
import { errorNotice } from '../../shared/notices';
import { whenChanged } from '../../shared/when-changed';
import type { Store } from '../../base/store';
import { makeFoundView } from './found';
import { makeRankView } from './ranks';
import { makeStageLayers } from './stage-layers';
import { makeEmptyLayout, makeSearchStrip } from './states';

/** The Layout tab: the layouts that a search found and the config's own, or how to search. */
export function makeLayoutView(store: Store): { readonly element: HTMLElement; readonly update: () => void } {
  const strip = makeSearchStrip(store.host);
  const empty = makeEmptyLayout(store.host);
  const found = makeFoundView(store);
  const notices = h('div', { class: 'layout-notices' });
  const stages = makeStageLayers(store);
  const ranks = makeRankView(store);
  const element = h('div', { class: 'layout-view' }, strip.element, notices, empty.element, found.element, stages.element, ranks.element);
  const changes = { notices: whenChanged(), empty: whenChanged() };
  const update = (): void => {
    const { layout: state = null } = store.state();
    if (state === null) return;
    const { answer, running, error } = state;
    strip.update(running);
    found.element.hidden = answer === null;
    empty.element.hidden = answer !== null;
    changes.notices([error, answer === null], () =>
      fill(notices, error === null || answer === null ? null : errorNotice(error, store.host)),
    );
    changes.empty([error, running === null], () => empty.update(state));
    if (answer !== null) found.update(answer, state);
    stages.update();
    ranks.update();
  };
  return { element, update };
}
