import { h, type IconName } from '../base/dom';
import { menuButton, type MenuItem } from '../shared/menu';
import type { Store } from '../base/store';
import { t } from '../base/strings';
import { iconButton, setPressed } from '../base/ui';

/** What the buttons of the view do. */
export interface ViewActions {
  readonly fit: () => void;
  readonly find: () => void;
  readonly help: () => void;
  readonly exports: readonly MenuItem[];
}

/** Buttons of the timeline and of all views; `update` says whether there is a timeline to act on, and details to show. */
export function makeViewActions(
  store: Store,
  actions: ViewActions,
): { readonly element: HTMLElement; readonly update: (hasTimeline: boolean, hasDetails: boolean) => void } {
  const toggle = (icon: IconName, label: string, flag: 'table' | 'inspector' | 'criticalPath'): HTMLElement =>
    iconButton({ icon, label, onClick: () => store.setView({ [flag]: !store.view()[flag] }) });
  const path = toggle('path', t('Outline the critical path'), 'criticalPath');
  const table = toggle('table', t('Show operations as a table'), 'table');
  const inspector = toggle('inspector', t('Show details'), 'inspector');
  const timelineOnly = [
    iconButton({ icon: 'fit', label: t('Zoom to fit'), onClick: actions.fit }),
    iconButton({ icon: 'search', label: t('Find an operation'), onClick: actions.find }),
    path,
    table,
    iconButton({ icon: 'keyboard', label: t('Keys'), onClick: actions.help }),
  ];
  const element = h(
    'div',
    { class: 'view-actions', role: 'toolbar', 'aria-label': t('View') },
    ...timelineOnly,
    inspector,
    menuButton(t('Export'), actions.exports),
  );
  const update = (hasTimeline: boolean, hasDetails: boolean): void => {
    const view = store.view();
    setPressed(path, view.criticalPath);
    setPressed(table, view.table);
    setPressed(inspector, view.inspector);
    for (const button of timelineOnly) button.hidden = !hasTimeline;
    inspector.hidden = !hasDetails;
  };
  return { element, update };
}
