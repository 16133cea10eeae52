import { h } from '../base/dom';
import { partAttributes } from '../base/parts';
import type { Store } from '../base/store';
import type { TabPage, TabView } from '../base/tab';
import { tabs } from '../tabs/registry';
import { own } from '../../src/core/records';

/** The panels of all tabs; each is filled when it is first shown. */
interface Panels {
  readonly elements: readonly HTMLElement[];
  /** The view of a tab; undefined while it is being fetched, after which `onLoad` is called. */
  readonly findView: (id: string) => TabView | undefined;
  /** Brings one panel to the front, with its buttons. */
  readonly show: (id: string) => void;
}

/** Makes the panels. @param onActions takes the buttons of a view once it is made */
export function makePanels(store: Store, page: TabPage, onActions: (buttons: readonly HTMLElement[]) => void, onLoad: () => void): Panels {
  const views = new Map<string, TabView>();
  const panels = new Map(
    Object.keys(tabs).map((id) => [
      id,
      h('div', { class: `panel panel-${id}`, id: `panel-${id}`, role: 'tabpanel', 'aria-labelledby': `tab-${id}`, ...partAttributes }),
    ]),
  );
  const fetched = new Set<string>();
  const fetch = async (id: string): Promise<void> => {
    const [tab, panel] = [own(tabs, id), panels.get(id)];
    if (tab === undefined || panel === undefined || fetched.has(id)) return;
    fetched.add(id);
    panel.setAttribute('aria-busy', 'true');
    const view = (await tab.load())(store, page);
    views.set(id, view);
    panel.append(view.element);
    onActions(view.actions ?? []);
    panel.removeAttribute('aria-busy');
    onLoad();
  };
  return {
    elements: [...panels.values()],
    findView: (id) => {
      void fetch(id);
      return views.get(id);
    },
    show: (shown) => {
      for (const [id, panel] of panels) panel.hidden = id !== shown;
      for (const [id, { actions = [] }] of views) if (id !== shown) for (const action of actions) action.hidden = true;
    },
  };
}
