import type { CandidateId } from '../../core/planner/plan';
import type { HostMessage, PageKind, PageMessage, TabId, TabParts, TrainingCost } from '../../protocol/page';
import { parsePageMessage } from '../../protocol/page-schema';
import type { LayoutSearches } from '../sessions/layout-searches';
import type { PlanSessions } from '../sessions/plan-sessions';
import type { SessionState } from '../sessions/session-state';
import { sideParts } from './layout-page';
import { makePageSender, type PagePart } from './page-sender';
import type { PageContext } from './page-state';
import { makePageSync, type PageSync } from './page-sync';
import { allTabParts, type TabPartSources } from './tab-parts';

/** What searches and measurements report of their progress is not posted more often. */
const postEveryMs = 100;
/** What changes while a plan is made waits for it this long: most plans are ready by then, and each message has the page drawn again. */
const waitForPlanMs = 200;

/** Parts of tabs that the side view has too. */
const sideNames = new Set<string>(['layout', 'history'] satisfies readonly (keyof TabParts)[]);

/** What all pages of a host share. */
export interface LinkServices {
  readonly sessions: PlanSessions;
  readonly layouts: LayoutSearches;
  readonly parts: TabPartSources;
  readonly displayPath: (file: string) => string;
  readonly isWorkspaceTrusted: () => boolean;
  /** @param file the config shown; null for none. */
  readonly trainingCost: (file: string | null) => TrainingCost;
  /**
   * Does what a page asks for; `ready`, `focus`, `log` and `draw` never get here. `session` is the one the page shows, with the opened
   * layout in place of the config's own.
   */
  readonly act: (message: PageAction, session: SessionState | null) => void;
}

export type PageAction = Exclude<PageMessage, { readonly type: 'ready' | 'focus' | 'log' | 'draw' }>;
/** What a page reports of itself, and messages that are not in the protocol (null). */
export type PageReport = Extract<PageMessage, { readonly type: 'focus' | 'log' }> | null;

/** One page: what it shows, and how it is reached. */
interface LinkedPage {
  readonly page: PageKind;
  /** The session to show now. */
  readonly session: () => SessionState | null;
  readonly isVisible: () => boolean;
  /** Of the side view: whether the tab of a config is in view too. */
  readonly isTabInView?: (file: string) => boolean;
  /** Hands one part of a message to the page; resolves when it arrived, rejects when the page is gone. */
  readonly post: (part: PagePart) => PromiseLike<unknown>;
  readonly report: (report: PageReport) => void;
}

/** The host's end of the messages of one page. */
interface PageLink {
  /** Takes what a page sent. */
  readonly receive: (raw: unknown) => void;
  /** Posts the state soon, when the page can receive it. */
  readonly refresh: () => void;
  /** Call when the page was hidden or shown: a hidden one is gone, and is back when it sends `ready`. */
  readonly visibilityChanged: () => void;
  /** Brings one tab and candidate forward, now or as soon as the page is ready. */
  readonly showTab: (tab: TabId, candidate: CandidateId | null) => void;
  readonly dispose: () => void;
}

/** Keeps a page current. It sends `ready` first and gets the whole state, which includes what it missed while hidden. */
export function linkPage(services: LinkServices, source: LinkedPage): PageLink {
  const { sessions, layouts, parts } = services;
  const sync = makePageSync();
  const sender = makePageSender(source.post, refresh);
  const clock = makeClock(post);
  let ready = false;
  let wanted: Extract<HostMessage, { type: 'show' }> | null = null;

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
      trusted: services.isWorkspaceTrusted(),
      displayPath: services.displayPath,
      parts: own === null ? {} : source.page === 'side' ? ofSide(own) : allTabParts(parts, own, sync.comparison()),
      tabInView: own !== null && source.isTabInView?.(own.file) === true,
      layoutFindings: own === null ? [] : layouts.findings(own.file),
      trainingCost: services.trainingCost(own?.file ?? null),
    };
  }

  function ofSide(own: SessionState): TabParts {
    return { ...sideParts(own, layouts.state(own.file)), history: parts.history.of(own, null) };
  }

  function receive(raw: unknown): void {
    const message = parsePageMessage(raw);
    if (message === null || message.type === 'focus' || message.type === 'log') source.report(message);
    else if (message.type === 'ready') {
      ready = true;
      sender.restart();
      sync.forget();
      post();
    } else if (message.type === 'draw') {
      sync.draw(message.candidates);
      post();
    } else services.act(message, sessionNow());
  }

  const isShown = (file: string): boolean => file === source.session()?.file;
  const refreshIf = (holds: boolean): void => {
    if (holds) refresh();
  };
  const subscriptions = [
    sessions.onDidChange((state) => refreshIf(isShown(state.file))),
    ...Object.entries(parts).map(([name, { changed }]) =>
      changed((file) => refreshIf((source.page === 'tab' || sideNames.has(name)) && isShown(file))),
    ),
  ];
  return {
    receive,
    refresh,
    visibilityChanged: () => {
      ready &&= source.isVisible();
      if (source.isVisible()) refresh();
    },
    showTab: (tab, candidate) => {
      wanted = { type: 'show', tab, candidate };
      post();
    },
    dispose: () => {
      clock.stop();
      sender.restart();
      for (const each of subscriptions) each.dispose();
    },
  };
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
