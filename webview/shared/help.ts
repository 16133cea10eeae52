import { say } from '../../src/core/sentence';
import type { PageKind } from '../../src/protocol/page';
import { pageCommandIds, pageKeys, type PageCommand } from '../../src/protocol/page-keys';
import { h } from '../base/dom';
import type { Host } from '../base/host';
import { t } from '../base/strings';
import { button } from '../base/ui';
import { own } from '../../src/core/records';

/** Keys of a page and what they do, as VS Code contributes them, in the order of the list; after them what pointers do in a timeline. */
function keyHelp(kind: PageKind): readonly (readonly [keys: string, does: string])[] {
  const commands = pageCommandIds.map((id): PageCommand => pageKeys[id]).filter(({ pages }) => pages.includes(kind));
  const keys = commands.map(({ keys: own, title }) => [own.flatMap(({ key }) => keyName(key) ?? []).join(', '), say(title, t)] as const);
  if (kind === 'side') return keys;
  return [
    ...keys,
    [t('Ctrl or Cmd + wheel'), t('Zoom at the pointer')],
    [t('Wheel, Shift + wheel'), t('Scroll the stages, move in time')],
    [t('Alt + wheel'), t('Higher and lower rows')],
    [t('Drag'), t('Select, with sums')],
    [t('Drag on the axis'), t('Move in time')],
    [t('Double click'), t('Zoom to an operation')],
  ];
}

/** A key of a keybinding as it is written on the keyboard: `shift+[KeyW]` is `Shift+W`. Null for the second of two that say the same. */
function keyName(key: string): string | null {
  if (key === '=' || key.startsWith('numpad')) return null;
  const names: Readonly<Record<string, string>> = {
    'shift+=': '+',
    'shift+/': '?',
    left: '←',
    right: '→',
    up: '↑',
    down: '↓',
    home: t('Home'),
    end: t('End'),
    pageup: t('Page up'),
    pagedown: t('Page down'),
    enter: t('Enter'),
    escape: t('Escape'),
  };
  const [last = '', ...modifiers] = key.split('+').reverse();
  const letter = (/^\[Key(.)\]$/.exec(last)?.[1] ?? last).toUpperCase();
  return own(names, key) ?? [...modifiers.map((modifier) => modifier.charAt(0).toUpperCase() + modifier.slice(1)), letter].join('+');
}

/**
 * The list of keys, as a dialog that Escape closes. They are the defaults: VS Code does not report what a person has changed; its own list,
 * where they are changed, is a button away.
 */
export function makeHelp(host: Host, kind: PageKind): { readonly element: HTMLDialogElement; readonly open: () => void } {
  const close = button({ label: t('Close'), onClick: () => element.close() });
  const isBrowser = document.body.dataset['host'] === 'browser';
  const change = button({
    label: t('Change keys'),
    appearance: 'secondary',
    onClick: () => {
      element.close();
      host.post({ type: 'command', command: 'terapipe.changeKeys' });
    },
  });
  const element = h(
    'dialog',
    { class: 'help', 'aria-label': t('Keys') },
    h('h2', {}, t('Default keys')),
    isBrowser ? null : h('p', { class: 'hint' }, t('Keys that you have changed are listed in the Keyboard Shortcuts editor.')),
    h('dl', {}, ...keyHelp(kind).map(([keys, does]) => h('div', {}, h('dt', {}, keys), h('dd', {}, does)))),
    h('div', { class: 'help-close' }, isBrowser ? null : change, close),
  );
  return { element, open: () => (element.open ? undefined : element.showModal()) };
}
