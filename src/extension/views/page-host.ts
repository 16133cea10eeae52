import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import type { CandidateId } from '../../core/planner/plan';
import type { Finding } from '../../core/findings';
import {
  noTabParts,
  type HostMessage,
  type PageKind,
  type PageMessage,
  type PageState,
  type TabId,
  type TabParts,
} from '../../protocol/page';
import { pageHtml } from './page-html';
import { parsePageMessage } from '../../protocol/page-schema';
import { affectsTrainingCost, trainingCost } from '../platform/settings';
import type { FocusedPage, PageFocusKeeper } from './page-focus';
import { makePageSender } from './page-sender';
import { differsInProgressOnly, pageFindingsOf, pageStateOf } from '../sessions/page-state';
import type { SessionState } from '../sessions/session-state';
import { displayPath } from '../sessions/sources';
import { tabParts, type PartSources } from './tab-parts';

/** At least a tenth of a second between states: progress moves smoothly and a large plan is not posted too often. */
const postEveryMs = 100;

/** What all pages share. */
export interface PageServices extends PartSources {
  readonly extensionUri: vscode.Uri;
  readonly log: vscode.LogOutputChannel;
  readonly focus: PageFocusKeeper;
  /**
   * Does what a page asks for; `ready`, `focus`, `log` and `draw` never get here. `session` is the one the page shows, with the opened
   * layout in place of the config's own.
   */
  readonly act: (message: PageAction, session: SessionState | null) => void;
}

export type PageAction = Exclude<PageMessage, { readonly type: 'ready' | 'focus' | 'log' | 'draw' }>;

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
  /** Call when the page was hidden or shown: a hidden one is gone, and is there again when it says that it is ready. */
  readonly visibilityChanged: () => void;
  /** Brings one tab and candidate forward, now or as soon as the page is ready. */
  readonly showTab: (tab: TabId, candidate: CandidateId | null) => void;
}

/**
 * Fills a webview with our page and keeps it current. The page sends `ready` first and gets the whole state, which includes what it missed
 * while hidden.
 */
export function attachPage(webview: vscode.Webview, services: PageServices, source: PageSource): Page {
  const { extensionUri, sessions, layouts, log, focus } = services;
  const parts = tabParts(services);
  const sync = pageSync(services, source, parts);
  const sender = makePageSender((part) => webview.postMessage(part), refresh);
  const focused: FocusedPage = { kind: source.page, send: (message) => void webview.postMessage(message) };
  let ready = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let postedMs = -Infinity;
  let wanted: Extract<HostMessage, { type: 'show' }> | null = null;

  webview.options = {
    enableScripts: true,
    localResourceRoots: [vscode.Uri.joinPath(extensionUri, 'dist'), vscode.Uri.joinPath(extensionUri, 'media')],
  };

  function post(): void {
    clearTimeout(timer);
    timer = undefined;
    if (!ready || !source.isVisible() || sender.isBusy()) return;
    const message = sync.next(sessionNow());
    if (message !== null) {
      postedMs = performance.now();
      sender.send(message);
    }
    if (wanted === null) return;
    sender.send(wanted);
    wanted = null;
  }

  /** The session; in the tab, an opened layout replaces the config's own. */
  function sessionNow(): SessionState | null {
    const session = source.session();
    const opened = session === null || source.page !== 'tab' ? null : (layouts.stateOf(session.file)?.opened ?? null);
    return session === null || opened === null ? session : { ...session, plan: opened.plan };
  }

  function refresh(): void {
    timer ??= setTimeout(post, Math.max(0, postedMs + postEveryMs - performance.now()));
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
      clearTimeout(timer);
      sender.restart();
      focus.left(focused);
    }),
    webview.onDidReceiveMessage(receive),
    vscode.workspace.onDidGrantWorkspaceTrust(refresh),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (!affectsTrainingCost(event)) return;
      sync.forget();
      refresh();
    }),
    sessions.onDidChange((state) => {
      if (isShown(state.file)) refresh();
    }),
    layouts.onDidChange((file) => {
      if (source.page === 'side' && isShown(file)) refresh();
    }),
    ...(Object.keys(parts.changes) as (keyof TabParts)[]).map((name) =>
      parts.changes[name]((file) => {
        if (source.page !== 'tab' || !isShown(file)) return;
        sync.note(name);
        refresh();
      }),
    ),
  );
  webview.html = htmlOf(webview, extensionUri, source);
  return {
    refresh,
    visibilityChanged: () => {
      if (source.isVisible()) refresh();
      else {
        ready = false;
        focus.left(focused);
      }
    },
    showTab: (tab, candidate) => {
      wanted = { type: 'show', tab, candidate };
      post();
    },
    dispose: () => void subscriptions.dispose(),
  };
}

function htmlOf(webview: vscode.Webview, extensionUri: vscode.Uri, { page, title }: PageSource): string {
  const asset = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(extensionUri, 'dist', name)).toString();
  return pageHtml({
    page,
    title,
    language: vscode.env.language,
    scriptUri: asset('webview.js'),
    styleUri: asset('page.css'),
    cspSource: webview.cspSource,
    nonce: randomBytes(18).toString('base64'),
    strings: vscode.l10n.bundle ?? {},
  });
}

/** Keeps account of what a page has been sent. */
interface PageSync {
  /** The message that brings the page up to date; null when it is. */
  readonly next: (session: SessionState | null) => HostMessage | null;
  /** A part of the tab's state changed. */
  readonly note: (part: keyof TabParts) => void;
  /** The page wants the timelines of these candidates. */
  readonly draw: (candidates: readonly CandidateId[]) => void;
  /** The page has nothing any more. */
  readonly forget: () => void;
}

function pageSync({ layouts }: PageServices, source: PageSource, parts: ReturnType<typeof tabParts>): PageSync {
  /** What the page was sent last; null when it has nothing. */
  let posted: { readonly session: SessionState | null; readonly trusted: boolean; readonly found: readonly Finding[] } | null = null;
  /** Id of the comparison that it has. */
  let comparison: string | null = null;
  let drawn: readonly CandidateId[] = [];
  const changed = new Set<keyof TabParts>();
  return {
    next: (session) => {
      const trusted = vscode.workspace.isTrusted;
      const own = source.session();
      // Always of the config's own plan, even while a found layout is open.
      const shown = source.page === 'side' || own === null ? noTabParts : parts.of(own, comparison);
      const found = session === null ? none : layouts.findingsOf(session.file);
      const before = posted;
      const noted = Object.fromEntries([...changed].map((name) => [name, shown[name]]));
      posted = { session, trusted, found };
      comparison = shown.comparison?.answer?.id ?? null;
      changed.clear();
      if (session === null || before?.trusted !== trusted || !differsInProgressOnly(session, before.session)) {
        const uri = session === null ? undefined : vscode.Uri.parse(session.file);
        const context = {
          page: source.page,
          trusted,
          displayPath,
          parts: shown,
          layoutFindings: found,
          drawn,
          trainingCost: trainingCost(uri),
        };
        return { type: 'state', state: pageStateOf(session, context) };
      }
      const { progress, incumbent, staleEdits } = session;
      const fields: Partial<PageState> = {
        ...(session !== before.session && { progress, incumbent, staleEdits }),
        ...(!isSameList(found, before.found) && { findings: pageFindingsOf(session, found, displayPath) }),
        ...noted,
      };
      return Object.keys(fields).length > 0 ? { type: 'update', fields } : null;
    },
    note: (part) => void changed.add(part),
    draw: (candidates) => {
      drawn = candidates;
      posted = null;
    },
    forget: () => {
      posted = null;
      comparison = null;
    },
  };
}

const none: readonly Finding[] = [];

function isSameList(a: readonly Finding[], b: readonly Finding[]): boolean {
  return a === b || (a.length === 0 && b.length === 0);
}
