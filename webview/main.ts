import { emptyPage, type ActMessage } from '../src/protocol/page';
import { findAction, sendAction } from './base/actions';
import { holdWhileInUse, type StateMessage } from './base/hold';
import { connect } from './base/host';
import { focusNow, watchFocus } from './base/parts';
import { makeStore, type Store } from './base/store';
import { watchTheme } from './base/theme';
import { registerUi } from './base/ui';

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
  const hold = holdWhileInUse(take);
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

void start();
