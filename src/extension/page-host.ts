import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import type { CandidateId } from '../core/planner/plan';
import type { HostMessage, PageKind, PageMessage, TabId } from '../protocol/page';
import { pageHtml } from './page-html';
import { parsePageMessage } from './page-messages';
import type { LayoutSearches } from './layout-searches';
import { pageLayoutOf } from './layout-page';
import { differsInProgressOnly, pageStateOf } from './page-state';
import type { PlanSessions, SessionState } from './plan-sessions';
import type { Profiles } from './profiles';
import { displayPath } from './sources';
import { transferable } from './transferable';

/** A tenth of a second between states: progress moves smoothly and a large plan is not posted too often. */
const postEveryMs = 100;

/** What all pages share. */
export interface PageServices {
  readonly profiles: Profiles;
  readonly extensionUri: vscode.Uri;
  readonly sessions: PlanSessions;
  readonly layouts: LayoutSearches;
  readonly log: vscode.LogOutputChannel;
  /** Does what a page asks for; `ready`, `log` and `draw` never get here. */
  readonly act: (message: PageAction, session: SessionState | null) => void;
}

export type PageAction = Exclude<PageMessage, { readonly type: 'ready' | 'log' | 'draw' }>;

export interface PageSource {
  readonly page: PageKind;
  readonly title: string;
  /** The session to show now. */
  readonly session: () => SessionState | null;
  readonly isVisible: () => boolean;
}

export interface Page {
  readonly dispose: () => void;
  /** Posts the state soon, when the page is there to receive it. */
  readonly refresh: () => void;
  /** Brings one tab and candidate forward, now or as soon as the page is ready. */
  readonly showTab: (tab: TabId, candidate: CandidateId | null) => void;
}

/** Fills a webview with our page and keeps it current. The page speaks first (`ready`) and gets a whole state; what it misses while hidden it gets then. */
export function attachPage(webview: vscode.Webview, services: PageServices, source: PageSource): Page {
  const { extensionUri, profiles, sessions, layouts, log } = services;
  let ready = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** What the page was told last; null when it knows nothing. */
  let posted: { readonly session: SessionState | null; readonly trusted: boolean } | null = null;
  let profilesChanged = false;
  let layoutChanged = false;
  let drawn: readonly CandidateId[] = [];
  let wanted: Extract<HostMessage, { type: 'show' }> | null = null;

  webview.options = {
    enableScripts: true,
    localResourceRoots: [vscode.Uri.joinPath(extensionUri, 'dist'), vscode.Uri.joinPath(extensionUri, 'media')],
  };

  function post(): void {
    clearTimeout(timer);
    timer = undefined;
    if (!ready || !source.isVisible()) return;
    const session = sessionNow();
    const trusted = vscode.workspace.isTrusted;
    const isTab = source.page === 'tab' && session !== null;
    const profile = isTab ? profiles.stateOf(session.file) : null;
    const layout = isTab ? pageLayoutOf(source.session() ?? session, layouts.stateOf(session.file)) : null;
    if (session !== null && posted !== null && trusted === posted.trusted && differsInProgressOnly(session, posted.session)) {
      const { progress, standing, staleEdits } = session;
      if (session !== posted.session) send({ type: 'progress', progress, standing, staleEdits });
      if (profilesChanged && profile !== null) send({ type: 'profile', profile });
      if (layoutChanged && layout !== null) send({ type: 'layout', layout });
    } else {
      const surroundings = { page: source.page, trusted, displayPath, profile, layout, drawn };
      send({ type: 'state', state: transferable(pageStateOf(session, surroundings)) });
    }
    posted = { session, trusted };
    profilesChanged = false;
    layoutChanged = false;
    if (wanted === null) return;
    send(wanted);
    wanted = null;
  }

  /** The session, in the tab with the layout that was opened there in place of the config's own. */
  function sessionNow(): SessionState | null {
    const session = source.session();
    const opened = session === null || source.page !== 'tab' ? null : (layouts.stateOf(session.file)?.opened ?? null);
    return session === null || opened === null ? session : { ...session, plan: opened.plan };
  }

  function send(message: HostMessage): void {
    void webview.postMessage(message);
  }

  function refresh(): void {
    timer ??= setTimeout(post, postEveryMs);
  }

  function receive(raw: unknown): void {
    const message = parsePageMessage(raw);
    if (message === null) {
      log.warn(`The ${source.page} page sent a message that is not in the protocol; ignored.`);
      return;
    }
    switch (message.type) {
      case 'ready':
        ready = true;
        posted = null;
        post();
        return;
      case 'draw':
        drawn = message.candidates;
        posted = null;
        post();
        return;
      case 'log':
        log[message.level](`${source.page} page: ${message.message}`);
        return;
      case 'command':
      case 'reveal':
      case 'change':
      case 'openTab':
      case 'save':
      case 'export':
      case 'openLayout':
      case 'applyLayout':
      case 'exportLayout':
        services.act(message, source.session());
    }
  }

  const subscriptions = vscode.Disposable.from(
    new vscode.Disposable(() => clearTimeout(timer)),
    webview.onDidReceiveMessage(receive),
    vscode.workspace.onDidGrantWorkspaceTrust(refresh),
    sessions.onDidChange((state) => {
      if (state.file === source.session()?.file) refresh();
    }),
    profiles.onDidChange((file) => {
      if (source.page !== 'tab' || file !== source.session()?.file) return;
      profilesChanged = true;
      refresh();
    }),
    layouts.onDidChange((file) => {
      if (source.page !== 'tab' || file !== source.session()?.file) return;
      layoutChanged = true;
      refresh();
    }),
  );

  const asset = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(extensionUri, 'dist', name)).toString();
  webview.html = pageHtml({
    page: source.page,
    title: source.title,
    language: vscode.env.language,
    scriptUri: asset('webview.js'),
    styleUri: asset('page.css'),
    cspSource: webview.cspSource,
    nonce: randomBytes(18).toString('base64'),
    strings: vscode.l10n.bundle ?? {},
  });

  return {
    refresh,
    showTab: (tab, candidate) => {
      wanted = { type: 'show', tab, candidate };
      post();
    },
    dispose: () => void subscriptions.dispose(),
  };
}
