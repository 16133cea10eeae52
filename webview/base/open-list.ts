import type { ActMessage, HostMessage } from '../../src/protocol/page';

type Shown = Exclude<HostMessage, ActMessage>;
type PageChange = Exclude<Shown, { readonly type: 'show' }>;

/**
 * Hands on what the page is to show at once, but while a dropdown's list is open only when it closes: nothing moves under a pointer that is
 * about to choose. Of what came meanwhile the last counts.
 */
export function heldWhileListIsOpen(take: (message: Shown) => void): (message: Shown) => void {
  let page: PageChange | null = null;
  let show: Shown | null = null;
  const isOpen = (): boolean => document.querySelector('vscode-dropdown[open]') !== null;
  const handOn = (): void => {
    if (isOpen()) return;
    const held = [page, show];
    page = show = null;
    for (const message of held) if (message !== null) take(message);
  };
  new MutationObserver(handOn).observe(document.documentElement, { subtree: true, attributeFilter: ['open'] });
  return (message) => {
    if (message.type === 'show') show = message;
    else page = after(page, message);
    handOn();
  };
}

/** Two changes of the page as one. */
function after(before: PageChange | null, next: PageChange): PageChange {
  if (before === null || next.type === 'state') return next;
  if (before.type === 'state') return { type: 'state', state: { ...before.state, ...next.fields } };
  return { type: 'update', fields: { ...before.fields, ...next.fields } };
}
