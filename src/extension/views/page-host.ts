import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import type { CandidateId } from '../../core/planner/plan';
import type { Finding } from '../../core/findings';
import type { HostMessage, PageKind, PageMessage, TabId } from '../../protocol/page';
import { pageComparisonOf } from './comparison-page';
import type { Comparisons } from '../sessions/comparisons';
import { pageHtml } from './page-html';
import { parsePageMessage } from './page-messages';
import { makePageSender } from './page-sender';
import type { LayoutSearches } from '../sessions/layout-searches';
import { pageLayoutOf } from './layout-page';
import { differsInProgressOnly, pageFindingsOf, pageStateOf } from '../sessions/page-state';
import type { PlanSessions } from '../sessions/plan-sessions';
import type { SessionState } from '../sessions/session-state';
import type { Profiles } from '../sessions/profiles';
import { displayPath } from '../sessions/sources';

/** A tenth of a second between states: progress moves smoothly and a large plan is not posted too often. */
const postEveryMs = 100;

/** What all pages share. */
export interface PageServices {
  readonly profiles: Profiles;
  readonly extensionUri: vscode.Uri;
  readonly sessions: PlanSessions;
  readonly layouts: LayoutSearches;
  readonly comparisons: Comparisons;
  readonly log: vscode.LogOutputChannel;
  /** Does what a page asks for; `ready`, `log` and `draw` never get here. `session` is what the page shows: with the layout that was opened there. */
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
  const { extensionUri, profiles, sessions, layouts, comparisons, log } = services;
  const sender = makePageSender((part) => webview.postMessage(part), refresh);
  const { send } = sender;
  let ready = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** What the page was told last; null when it knows nothing. */
  let posted: { readonly session: SessionState | null; readonly trusted: boolean; readonly found: readonly Finding[] } | null = null;
  /** Id of the comparison that it has. */
  let sent: string | null = null;
  const changed = new Set<'profile' | 'layout' | 'comparison'>();
  let drawn: readonly CandidateId[] = [];
  let wanted: Extract<HostMessage, { type: 'show' }> | null = null;

  webview.options = {
    enableScripts: true,
    localResourceRoots: [vscode.Uri.joinPath(extensionUri, 'dist'), vscode.Uri.joinPath(extensionUri, 'media')],
  };

  function post(): void {
    clearTimeout(timer);
    timer = undefined;
    if (!ready || !source.isVisible() || sender.isBusy()) return;
    const session = sessionNow();
    const trusted = vscode.workspace.isTrusted;
    const isTab = source.page === 'tab' && session !== null;
    const profile = isTab ? profiles.stateOf(session.file) : null;
    const layout = isTab ? pageLayoutOf(source.session() ?? session, layouts.stateOf(session.file)) : null;
    const comparison = isTab ? comparisonOf(session.file) : null;
    const found = session === null ? none : layouts.findingsOf(session.file);
    if (session !== null && posted !== null && trusted === posted.trusted && differsInProgressOnly(session, posted.session)) {
      const { progress, standing, staleEdits } = session;
      if (session !== posted.session) send({ type: 'progress', progress, standing, staleEdits });
      if (!isSameList(found, posted.found)) send({ type: 'findings', findings: pageFindingsOf(session, found, displayPath) });
      if (changed.has('profile') && profile !== null) send({ type: 'profile', profile });
      if (changed.has('layout') && layout !== null) send({ type: 'layout', layout });
      if (changed.has('comparison')) send({ type: 'comparison', comparison });
    } else {
      const context = { page: source.page, trusted, displayPath, profile, layout, comparison, layoutFindings: found, drawn };
      send({ type: 'state', state: pageStateOf(session, context) });
    }
    posted = { session, trusted, found };
    sent = comparison?.answer?.id ?? null;
    changed.clear();
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

  function comparisonOf(file: string): ReturnType<typeof pageComparisonOf> {
    const textsOf = (of: string): ReadonlyMap<string, string> => sessions.get(of)?.texts ?? new Map<string, string>();
    return pageComparisonOf(file, comparisons.stateOf(file), { displayPath, textsOf, sent });
  }

  function refresh(): void {
    timer ??= setTimeout(post, postEveryMs);
  }

  /** A part of the tab's state changed. */
  function note(part: 'profile' | 'layout' | 'comparison', file: string): void {
    if (source.page !== 'tab' || file !== source.session()?.file) return;
    changed.add(part);
    refresh();
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
        sender.restart();
        posted = null;
        sent = null;
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
      case 'comparison':
        services.act(message, sessionNow());
    }
  }

  const subscriptions = vscode.Disposable.from(
    new vscode.Disposable(() => {
      clearTimeout(timer);
      sender.restart();
    }),
    webview.onDidReceiveMessage(receive),
    vscode.workspace.onDidGrantWorkspaceTrust(refresh),
    sessions.onDidChange((state) => {
      if (state.file === source.session()?.file) refresh();
    }),
    profiles.onDidChange((file) => note('profile', file)),
    layouts.onDidChange((file) => {
      if (source.page === 'side' && file === source.session()?.file) refresh();
      note('layout', file);
    }),
    comparisons.onDidChange((file) => note('comparison', file)),
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

const none: readonly Finding[] = [];

function isSameList(a: readonly Finding[], b: readonly Finding[]): boolean {
  return a === b || (a.length === 0 && b.length === 0);
}
