import { emptyPage, type ActMessage, type HostMessage } from '../src/protocol/page';
import { findAction, sendAction } from './base/actions';
import { connect } from './base/host';
import { focusNow, watchFocus } from './base/parts';
import { makeStore, type Store } from './base/store';
import { watchTheme } from './base/theme';
import { registerUi } from './base/ui';

type StateMessage = Exclude<HostMessage, ActMessage>;
type PageChange = Exclude<StateMessage, { readonly type: 'show' }>;

/** Starts the page that the host's document asks for; fetches no other. */
async function start(): Promise<void> {
  const root = document.getElementById('root');
  if (root === null) throw new Error('the page has no root element');
  const kind = document.body.dataset['page'] === 'tab' ? 'tab' : 'side';
  registerUi();
  watchTheme();
  const connected: { store: Store | null } = { store: null };
  // The store may show an older plan for a while; what the host sent is what its updates are changes of.
  let sent = emptyPage(kind, true);
  const take = (message: StateMessage): void => {
    const { store } = connected;
    if (message.type === 'show') store?.setView({ tab: message.tab, candidate: message.candidate });
    else store?.receive((sent = message.type === 'state' ? message.state : { ...sent, ...message.fields }));
  };
  const hold = heldWhileListIsOpen(take);
  const host = connect((message) => (message.type === 'act' ? act(message) : hold(message)));
  const report = (error: unknown): void =>
    host.post({
      type: 'log',
      level: 'error',
      message: (error instanceof Error ? (error.stack ?? error.message) : String(error)).slice(0, 9000),
    });
  window.addEventListener('error', (event) => report(event.error));
  window.addEventListener('unhandledrejection', (event) => report(event.reason));
  const store = makeStore(host, kind);
  connected.store = store;
  if (document.body.classList.contains('vscode-using-screen-reader')) store.setView({ table: true });
  const page = kind === 'tab' ? (await import('./editor-tab/page')).tabPage : (await import('./side-view/page')).sidePage;
  page(root, store);
  host.post({ type: 'ready' });
  watchFocus((on) => host.post({ type: 'focus', on }));
}

/** Does a command. A key that was pressed before the host heard that the focus went into a field is a letter of that field. */
function act({ command, focus }: ActMessage): void {
  const isOld = (focus === 'lanes' || focus === 'other') && focusNow() === 'field';
  const action = findAction(command);
  if (!isOld && action !== null) sendAction(action);
}

/**
 * Hands on what the page is to show at once, but while a dropdown's list is open only when it closes: nothing moves under a pointer that is
 * about to choose. Of what came meanwhile the last counts.
 */
function heldWhileListIsOpen(take: (message: StateMessage) => void): (message: StateMessage) => void {
  let page: PageChange | null = null;
  let show: StateMessage | null = null;
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

void start();
