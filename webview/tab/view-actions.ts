import { h } from '../base/dom';
import { menuButton, type MenuItem } from '../shared/menu';
import type { Store } from '../base/store';
import { t } from '../base/strings';
import { iconButton, setPressed } from '../base/ui';

/**
 * Makes the buttons of the view on screen: those of its tab, of the details, and of exports. `update` says whether there are details to
 * show.
 */
export function makeViewActions(
  store: Store,
  ofTabs: readonly HTMLElement[],
  exports: readonly MenuItem[],
): { readonly element: HTMLElement; readonly update: (hasDetails: boolean) => void } {
  const inspector = iconButton({
    icon: 'inspector',
    label: t('Show details'),
    onClick: () => store.setView({ inspector: !store.view().inspector }),
  });
  const element = h(
    'div',
    { class: 'view-actions', role: 'toolbar', 'aria-label': t('View') },
    ...ofTabs,
    inspector,
    menuButton(t('Export'), exports),
  );
  const update = (hasDetails: boolean): void => {
    setPressed(inspector, store.view().inspector);
    inspector.hidden = !hasDetails;
  };
  return { element, update };
}
