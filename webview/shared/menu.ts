import { h, icon } from '../base/dom';
import { button } from '../base/ui';
import { own } from '../../src/core/records';

/** One entry of a menu. */
export interface MenuItem {
  readonly label: string;
  readonly run: () => void;
  /** Whether there is anything to do for it now; left out: always. */
  readonly isOffered?: () => boolean;
}

/** A button that opens a menu under it: arrows move, Enter runs, Escape and a click elsewhere close. */
export function menuButton(label: string, items: readonly MenuItem[]): HTMLElement {
  const list = h('div', { class: 'menu', role: 'menu', hidden: true, 'aria-label': label });
  const opener = button({ label, appearance: 'secondary', onClick: () => (list.hidden ? open() : close()) });
  opener.append(icon('down'));
  opener.classList.add('opens-menu');
  opener.setAttribute('aria-haspopup', 'menu');
  opener.setAttribute('aria-expanded', 'false');
  const entries = items.map((item) =>
    h(
      'button',
      {
        class: 'menu-item',
        role: 'menuitem',
        type: 'button',
        tabindex: -1,
        onclick: () => {
          close();
          opener.focus();
          item.run();
        },
      },
      item.label,
    ),
  );
  list.append(...entries);
  let offered: readonly HTMLElement[] = entries;
  const outside = (event: PointerEvent): void => {
    if (event.target instanceof Node && !element.contains(event.target)) close();
  };
  const open = (): void => {
    entries.forEach((entry, index) => (entry.hidden = items[index]?.isOffered?.() === false));
    offered = entries.filter((entry) => !entry.hidden);
    list.hidden = false;
    opener.setAttribute('aria-expanded', 'true');
    offered[0]?.focus();
    document.addEventListener('pointerdown', outside);
  };
  const close = (): void => {
    list.hidden = true;
    opener.setAttribute('aria-expanded', 'false');
    document.removeEventListener('pointerdown', outside);
  };
  const element = h('div', { class: 'menu-anchor' }, opener, list);
  element.addEventListener('keydown', (event) => {
    if (list.hidden) return;
    const at = offered.findIndex((entry) => entry === document.activeElement);
    const move: Readonly<Record<string, number>> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: offered.length - 1 };
    const to = own(move, event.key);
    if (event.key === 'Escape') {
      close();
      opener.focus();
    } else if (event.key === 'Tab') close();
    if (to !== undefined) offered[(to + offered.length) % offered.length]?.focus();
    if (to === undefined && event.key !== 'Escape') return;
    event.preventDefault();
    event.stopPropagation();
  });
  return element;
}
