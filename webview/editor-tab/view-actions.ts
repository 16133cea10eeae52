import { h } from '../base/dom';
import { menuButton, type MenuItem } from '../shared/menu';
import type { Store } from '../base/store';
import { t } from '../base/strings';
import { iconButton, setPressed } from '../base/ui';

/** The buttons of the view on screen: those of its tab, of the details, and of exports. */
interface ViewActions {
  readonly element: HTMLElement;
  /** Takes the buttons of one more tab. */
  readonly add: (buttons: readonly HTMLElement[]) => void;
  readonly update: (hasDetails: boolean) => void;
}

export function makeViewActions(store: Store, exports: readonly MenuItem[]): ViewActions {
  const inspector = iconButton({
    icon: 'inspector',
    label: t('Show details'),
    onClick: () => store.setView({ inspector: !store.view().inspector }),
  });
  const element = h(
    'div',
    { class: 'view-actions', role: 'toolbar', 'aria-label': t('View') },
    inspector,
    menuButton(t('Export'), exports),
  );
  const update = (hasDetails: boolean): void => {
    setPressed(inspector, store.view().inspector);
    inspector.hidden = !hasDetails;
  };
  return { element, add: (buttons) => inspector.before(...buttons), update };
}
