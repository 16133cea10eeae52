import { h } from '../dom';
import type { Store } from '../store';

/** The Layout tab: the layouts that a search found, beside the config's own. */
export function makeLayoutView(store: Store): { readonly element: HTMLElement; readonly update: () => void } {
  const element = h('div', { class: 'layout-view' });
  const update = (): void => {
    element.hidden = store.state().layout === null;
  };
  return { element, update };
}
