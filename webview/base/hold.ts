import type { ActMessage, HostMessage } from '../../src/protocol/page';

/** What the host sends for the page to show. */
export type StateMessage = Exclude<HostMessage, ActMessage>;
type PageChange = Exclude<StateMessage, { readonly type: 'show' }>;

/** What is dragged or typed into: the page follows it while it is pressed. */
const keepsGoing = 'canvas, input, textarea, vscode-text-field, [role=slider], [role=separator]';

/** A click follows the release of a mouse at once, that of a finger a moment later; after a drag none does. */
const untilClickMs = 100;

/**
 * Hands on what the page is to show at once, but while a dropdown's list is open or something is pressed only after it: an element that is
 * replaced between press and release gets no click. Only the last of what came meanwhile is shown.
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
  let pressedBy: number | 'space' | null = null;
  let ending: ReturnType<typeof setTimeout> | undefined;
  const press = ({ target }: Event, by: number | 'space'): void => {
    if (!(target instanceof Element) || target.closest(keepsGoing) !== null) return;
    clearTimeout(ending);
    pressedBy = by;
    report(true);
  };
  const release = (afterMs: number): void => {
    if (pressedBy === null) return;
    clearTimeout(ending);
    ending = setTimeout(() => {
      pressedBy = null;
      report(false);
    }, afterMs);
  };
  const on = <Name extends keyof DocumentEventMap>(type: Name, listener: (event: DocumentEventMap[Name]) => void): void =>
    document.addEventListener(type, listener, true);
  on('pointerdown', (event) => {
    if (event.button === 0) press(event, event.pointerId);
  });
  on('keydown', (event) => {
    if (event.key === ' ') press(event, 'space');
  });
  for (const type of ['pointerup', 'pointercancel'] as const)
    on(type, ({ pointerId }) => {
      if (pressedBy === pointerId) release(untilClickMs);
    });
  on('keyup', ({ key }) => {
    if (key === ' ' && pressedBy === 'space') release(0);
  });
  const end = (): void => release(0);
  on('click', end);
  // After a context menu the release may not come.
  on('contextmenu', end);
  window.addEventListener('blur', end);
}

/** Two changes of the page as one. */
function after(before: PageChange | null, next: PageChange): PageChange {
  if (before === null || next.type === 'state') return next;
  if (before.type === 'state') return { type: 'state', state: { ...before.state, ...next.fields } };
  return { type: 'update', fields: { ...before.fields, ...next.fields } };
}
