import { h } from '../base/dom';
import { menuButton, type MenuItem } from '../shared/menu';
import type { Store } from '../base/store';
import { t } from '../base/strings';
import { iconButton, setPressed } from '../base/ui';

/** The buttons of the view on screen: those of its tab, of the details, and of exports; a narrow page folds them behind one. */
interface ViewActions {
  readonly element: HTMLElement;
  /** Takes the buttons of one more tab. */
  readonly add: (buttons: readonly HTMLElement[]) => void;
  readonly update: (hasDetails: boolean) => void;
}

/** @param opener opens the settings to try; null: there are none. */
export function makeViewActions(store: Store, exports: readonly MenuItem[], opener: HTMLElement | null): ViewActions {
  const inspector = iconButton({
    icon: 'inspector',
    label: t('Show details'),
    onClick: () => store.setView({ inspector: !store.view().inspector }),
  });
  const folded = h('div', { class: 'view-actions-folded' }, inspector, menuButton(t('Export'), exports));
  const more = iconButton({
    icon: 'more',
    label: t('More actions'),
    onClick: () => showFolded(!element.classList.contains('unfolded')),
  });
  more.classList.add('view-actions-more');
  const element = h('div', { class: 'view-actions', role: 'toolbar', 'aria-label': t('View') }, opener, more, folded);
  const showFolded = (shows: boolean): void => {
    element.classList.toggle('unfolded', shows);
    more.setAttribute('aria-expanded', String(shows));
  };
  showFolded(false);
  document.addEventListener('pointerdown', ({ target }) => {
    if (target instanceof Node && !element.contains(target)) showFolded(false);
  });
  element.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !element.classList.contains('unfolded')) return;
    showFolded(false);
    more.focus();
    event.stopPropagation();
  });
  const update = (hasDetails: boolean): void => {
    setPressed(inspector, store.view().inspector);
    inspector.hidden = !hasDetails;
  };
  return { element, add: (buttons) => inspector.before(...buttons), update };
}
