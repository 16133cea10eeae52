import { own } from '../core/records';
import { pageKeys, type PageCommandId, type PageFocus } from '../protocol/page-keys';
import type { ActMessage } from '../protocol/page';

/**
 * Has the page do the command of a key that is pressed, as VS Code does, whatever the page does with the key: a widget that takes one stops
 * it. `focus` is the part of the page that has the focus.
 */
export function watchKeys(focus: () => PageFocus, send: (message: ActMessage) => void): void {
  window.addEventListener('keydown', (event) => {
    if (event.target instanceof Element && event.target.closest('#root') === null && event.target !== document.body) return;
    const on = focus();
    if (on === 'none' || on === 'field') return;
    const names = keyNames(event);
    for (const [command, { keys }] of Object.entries(pageKeys)) {
      if (!keys.some(({ key, where }) => names.includes(key) && (where === 'page' || on === 'lanes'))) continue;
      send({ type: 'act', command: command as PageCommandId, focus: on });
      return;
    }
  });
}

const shifted: Readonly<Record<string, string>> = { '?': 'shift+/', '+': 'shift+=' };

/** The names that VS Code has for a key: by what it types, and by where it lies. */
function keyNames({ key, code, shiftKey, ctrlKey, altKey, metaKey }: KeyboardEvent): readonly string[] {
  const held = `${ctrlKey ? 'ctrl+' : ''}${shiftKey ? 'shift+' : ''}${altKey ? 'alt+' : ''}${metaKey ? 'meta+' : ''}`;
  const name = key.toLowerCase().replace(/^arrow/, '');
  const typed = own(shifted, key);
  if (ctrlKey || altKey || metaKey) return [held + name];
  return [held + name, `${held}[${code}]`, ...(typed === undefined ? [] : [typed])];
}
