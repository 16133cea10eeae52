import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { ActMessage } from '../../src/protocol/page';
import type { PageCommandId } from '../../src/protocol/page-keys';

interface Keybinding {
  readonly command: PageCommandId;
  readonly key: string;
  readonly when: string;
}

/**
 * What VS Code does with keys that a page leaves to it, as a script for the page: looks for a keybinding of `package.json` whose `when`
 * holds for the focus that the page has reported, and has the page do its command. A page reports it by `pageFocus(on)`.
 */
export function workbenchKeys(root: string): string {
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    readonly contributes: { readonly keybindings: readonly Keybinding[] };
  };
  const bindings = manifest.contributes.keybindings.map(({ command, key, when }) => {
    const message: ActMessage = { type: 'act', command, focus: 'none' };
    return { key, focus: focusOf(when), message };
  });
  return `
  const bindings = ${JSON.stringify(bindings).replace(/</g, '\\u003c')};
  let focused = 'none';
  const pageFocus = (on) => { focused = on; };
  const shifted = { '?': 'shift+/', '+': 'shift+=' };
  const keyNames = ({ key, code, shiftKey, ctrlKey, altKey, metaKey }) => {
    const held = (ctrlKey ? 'ctrl+' : '') + (shiftKey ? 'shift+' : '') + (altKey ? 'alt+' : '') + (metaKey ? 'meta+' : '');
    const name = key.toLowerCase().replace(/^arrow/, '');
    return ctrlKey || altKey || metaKey ? [held + name] : [held + name, held + '[' + code + ']', shifted[key] ?? ''];
  };
  window.addEventListener('keydown', (event) => {
    const names = keyNames(event);
    const pressed = bindings.find(({ key, focus }) => names.includes(key) && new RegExp(focus).test(focused));
    if (pressed === undefined) return;
    window.postMessage({ ...pressed.message, focus: focused }, '*');
  });
  `;
}

/** The values of the context key for which a clause holds, as a regular expression. */
function focusOf(when: string): string {
  const found = /^terapipe\.pageFocus (?:== (?<value>\w+)|=~ \/(?<pattern>.+)\/) && !inputFocus$/.exec(when)?.groups;
  const pattern = found?.['pattern'] ?? (found?.['value'] === undefined ? undefined : `^${found['value']}$`);
  if (pattern === undefined) throw new Error(`no clause of pages: ${when}`);
  return pattern;
}
