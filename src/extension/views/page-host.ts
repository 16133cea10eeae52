import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import type { HostMessage, PageKind, PageMessage, TabId } from '../../protocol/page';
import type { CandidateId } from '../../core/planner/plan';
import { pageHtml } from './page-html';
import { parsePageMessage } from '../../protocol/page-schema';
import { affectsTrainingCost, trainingCost } from '../platform/settings';
import type { FocusedPage, PageFocusKeeper } from './page-focus';
import { makePageSender } from './page-sender';
import type { PageContext } from '../sessions/page-state';
import { makePageSync, type PageSync } from '../sessions/page-sync';
import type { SessionState } from '../sessions/session-state';
import { displayPath } from '../sessions/sources';
import { sideParts } from './layout-page';
import type { LayoutSearches } from '../sessions/layout-searches';
import type { PlanSessions } from '../sessions/plan-sessions';
import { allTabParts, type TabPartSources } from './tab-parts';

/** What searches and measurements report of their progress is not posted more often. */
const postEveryMs = 100;
/** What changes while a plan is made waits for it this long: most plans are ready by then, and each message has the page drawn again. */
const waitForPlanMs = 200;

/** What all pages share. */
export interface PageServices {
  readonly extensionUri: vscode.Uri;
  readonly sessions: PlanSessions;
  readonly layouts: LayoutSearches;
  readonly parts: TabPartSources;
  readonly log: vscode.LogOutputChannel;
  readonly focus: PageFocusKeeper;
  /**
   * Does what a page asks for; `ready`, `focus`, `log` and `draw` never get here. `session` is the one the page shows, with the opened
   * layout in place of the config's own.
   */
  readonly act: (message: PageAction, session: SessionState | null) => void;
}

export type PageAction = Exclude<PageMessage, { readonly type: 'ready' | 'focus' | 'log' | 'draw' }>;

interface PageSource {
  readonly page: PageKind;
  readonly title: string;
  /** The session to show now. */
  readonly session: () => SessionState | null;
  readonly isVisible: () => boolean;
}

export interface Page {
  readonly dispose: () => void;
  /** Posts the state soon, when the page can receive it. */
  readonly refresh: () => void;
  /** Call when the page was hidden or shown: a hidden one is gone, and is back when it sends `ready`. */
  readonly visibilityChanged: () => void;
  /** Brings one tab and candidate forward, now or as soon as the page is ready. */
  readonly showTab: (tab: TabId, candidate: CandidateId | null) => void;
}

/**
 * Fills a webview with our page and keeps it current. The page sends `ready` first and gets the whole state, which includes what it missed
 * while hidden.
 */
export function attachPage(webview: vscode.Webview, services: PageServices, source: PageSource): Page {
  const { extensionUri, sessions, layouts, parts, log, focus } = services;
  const sync = makePageSync();
  const sender = makePageSender((part) => webview.postMessage(part), refresh);
  const focused: FocusedPage = { kind: source.page, send: (message) => void webview.postMessage(message) };
  let ready = false;
  const clock = makeClock(post);
  let wanted: Extract<HostMessage, { type: 'show' }> | null = null;

  webview.options = optionsFor(extensionUri);

  function post(): void {
    clock.stop();
    if (!ready || !source.isVisible() || sender.isBusy()) return;
    const message = sync.next(sessionNow(), pageContext());
    if (message !== null) sender.send(message);
    if (wanted === null) return;
    sender.send(wanted);
    wanted = null;
  }

  /** The session; in the tab, an opened layout replaces the config's own. */
  function sessionNow(): SessionState | null {
    const session = source.session();
    const opened = session === null || source.page !== 'tab' ? null : (layouts.state(session.file)?.opened ?? null);
    return session === null || opened === null ? session : { ...session, plan: opened.plan };
  }

  function refresh(): void {
    clock.ring(sync.due(sessionNow()));
  }

  function pageContext(): Omit<PageContext, 'timelines'> {
    const own = source.session(); // even while a found layout is open
    return {
      page: source.page,
      trusted: vscode.workspace.isTrusted,
      displayPath,
      parts:
        own === null ? {} : source.page === 'side' ? sideParts(own, layouts.state(own.file)) : allTabParts(parts, own, sync.comparison()),
      layoutFindings: own === null ? [] : layouts.findings(own.file),
      trainingCost: trainingCost(own === null ? undefined : vscode.Uri.parse(own.file)),
    };
  }

  function receive(raw: unknown): void {
    const message = parsePageMessage(raw);
    if (message === null) {
      log.warn(`The ${source.page} page sent a message that is not in the protocol; ignored.`);
      return;
    }
    if (message.type === 'ready') {
      ready = true;
      sender.restart();
      sync.forget();
      post();
    } else if (message.type === 'draw') {
      sync.draw(message.candidates);
      post();
    } else if (message.type === 'focus') focus.note(focused, message.on);
    else if (message.type === 'log') log[message.level](`${source.page} page: ${message.message}`);
    else services.act(message, sessionNow());
  }

  const isShown = (file: string): boolean => file === source.session()?.file;
  const subscriptions = vscode.Disposable.from(
    new vscode.Disposable(() => {
      clock.stop();
      sender.restart();
      focus.left(focused);
    }),
    webview.onDidReceiveMessage(receive),
    vscode.workspace.onDidGrantWorkspaceTrust(refresh),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (affectsTrainingCost(event)) refresh();
    }),
    sessions.onDidChange((state) => {
      if (isShown(state.file)) refresh();
    }),
    layouts.onDidChange((file) => {
      if (source.page === 'side' && isShown(file)) refresh();
    }),
    ...Object.values(parts).map(({ changed }) =>
      changed((file) => {
        if (source.page === 'tab' && isShown(file)) refresh();
      }),
    ),
  );
  webview.html = buildHtml(webview, extensionUri, source);
  return {
    refresh,
    visibilityChanged: () => {
      ready &&= source.isVisible();
      if (source.isVisible()) refresh();
      else focus.left(focused);
    },
    showTab: (tab, candidate) => {
      wanted = { type: 'show', tab, candidate };
      post();
    },
    dispose: () => void subscriptions.dispose(),
  };
}

/** Scripts run, and only our own files are loaded. */
function optionsFor(extensionUri: vscode.Uri): vscode.WebviewOptions {
  const localResourceRoots = ['dist', 'media'].map((folder) => vscode.Uri.joinPath(extensionUri, folder));
  return { enableScripts: true, localResourceRoots };
}

/** Calls `post` once, at the soonest of the times that were asked for. Call `stop` when `post` runs, or must not run any more. */
function makeClock(post: () => void): { readonly ring: (due: ReturnType<PageSync['due']>) => void; readonly stop: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let [atMs, postedMs] = [Infinity, -Infinity];
  const stop = (): void => {
    clearTimeout(timer);
    [atMs, postedMs] = [Infinity, performance.now()];
  };
  return {
    ring: (due) => {
      const now = performance.now();
      const dueMs = { now, soon: Math.max(now, postedMs + postEveryMs), later: now + waitForPlanMs }[due];
      if (dueMs >= atMs) return;
      clearTimeout(timer);
      atMs = dueMs;
      timer = setTimeout(post, dueMs - now);
    },
    stop,
  };
}

function buildHtml(webview: vscode.Webview, extensionUri: vscode.Uri, { page, title }: PageSource): string {
  const asset = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(extensionUri, 'dist', name)).toString();
  return pageHtml({
    page,
    title,
    scriptUri: asset('webview.js'),
    styleUri: asset('page.css'),
    cspSource: webview.cspSource,
    nonce: randomBytes(18).toString('base64'),
  });
}
