import type { ActMessage, HostMessage } from '../../src/protocol/page';

/** What the host sends for the page to show. */
export type StateMessage = Exclude<HostMessage, ActMessage>;
type PageChange = Exclude<StateMessage, { readonly type: 'show' }>;

/** Follows the pointer while it is pressed: its page has to follow what it changes. */
const dragged = 'canvas, input, [role=slider], [role=separator]';

/**
 * Hands on what the page is to show at once, but while a dropdown's list is open or something is pressed only after it: an element that is
 * replaced between press and release gets no click. Of what came meanwhile the last counts.
 */
export function holdWhileInUse(take: (message: StateMessage) => void): (message: StateMessage) => void {
  let page: PageChange | null = null;
  let show: StateMessage | null = null;
  let isPressed = false;
  const isInUse = (): boolean => isPressed || document.querySelector('vscode-dropdown[open]') !== null;
  const handOn = (): void => {
    if (isInUse()) return;
    const held = [page, show];
    page = show = null;
    for (const message of held) if (message !== null) take(message);
  };
  new MutationObserver(handOn).observe(document.documentElement, { subtree: true, attributeFilter: ['open'] });
  watchPress((pressed) => {
    isPressed = pressed;
    handOn();
  });
  return (message) => {
    if (message.type === 'show') show = message;
    else page = after(page, message);
    handOn();
  };
}

/** Reports a press of the pointer's main button or the space bar on an element, and its release once the click has been heard. */
function watchPress(report: (pressed: boolean) => void): void {
  const press = ({ target }: Event): void => {
    if (target instanceof Element && target.closest(dragged) === null) report(true);
  };
  // The click comes after the release.
  const release = (): void => void setTimeout(() => report(false), 0);
  document.addEventListener('pointerdown', (event) => (event.button === 0 ? press(event) : undefined), true);
  document.addEventListener('keydown', (event) => (event.key === ' ' ? press(event) : undefined), true);
  // After a context menu the release may not come.
  for (const type of ['pointerup', 'pointercancel', 'contextmenu', 'keyup']) document.addEventListener(type, release, true);
  window.addEventListener('blur', release);
}

/** Two changes of the page as one. */
function after(before: PageChange | null, next: PageChange): PageChange {
  if (before === null || next.type === 'state') return next;
  if (before.type === 'state') return { type: 'state', state: { ...before.state, ...next.fields } };
  return { type: 'update', fields: { ...before.fields, ...next.fields } };
}
