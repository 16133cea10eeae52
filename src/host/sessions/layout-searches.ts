import { CancelledError } from '../../core/errors';
import { noFindings, type Finding } from '../../core/findings';
import type { SearchResult } from '../../core/layout-search/result';
import { isLauncher } from '../../core/launchers/registry';
import type { ConfigSearch, openSearch, questionIfAny } from './layout-search';
import type { LayoutSearch, LayoutSearchHost } from './layout-search-host';
import type { PlanSessions } from './plan-sessions';
import type { SessionState } from './session-state';

/** Searches of layouts, one a config. An answer ages with edits and is never lost. */
export interface LayoutSearches {
  /** Null before the first search. */
  readonly state: (file: string) => LayoutSearch | null;
  /** Findings of a current answer about the files of a config. */
  readonly findings: (file: string) => readonly Finding[];
  /** Starts a new search, with improvements. Resolves to the answer. @throws ExpectedError what stopped it; CancelledError. */
  readonly search: (file: string) => Promise<SearchResult>;
  /** The current answer; searches first where there is none. @throws as `search`. */
  readonly current: (file: string) => Promise<{ readonly id: string; readonly result: SearchResult }>;
  /** Whether a search that a person started is running. */
  readonly isAsked: (file: string) => boolean;
  readonly cancel: (file: string) => void;
  /**
   * Makes the full plan of one layout of the answer; null closes it. @throws ExpectedError of the planner, `layout-outdated` for what is
   * not in the answer `id`; CancelledError.
   */
  readonly open: (file: string, point: { readonly answer: string; readonly index: number } | null) => Promise<void>;
  readonly onDidChange: (listener: (file: string) => void) => { dispose: () => void };
  readonly dispose: () => void;
}

/** What searches for one config; loaded with the first search. */
interface SearchCode {
  readonly openSearch: typeof openSearch;
  readonly questionIfAny: typeof questionIfAny;
}

/** Loads the code once; what was cancelled meanwhile does not search. */
function searchCode() {
  let loaded: SearchCode | null = null;
  let isLoading = false;
  const awaited = new Set<string>();
  const load = async (): Promise<SearchCode> => (loaded ??= await import('./layout-search'));
  return {
    loaded: () => loaded,
    /** For the first search of a file. @throws CancelledError. */
    loadFor: async (file: string): Promise<SearchCode> => {
      awaited.add(file);
      const code = await load();
      if (!awaited.delete(file)) throw new CancelledError();
      return code;
    },
    /** For searches in the background. */
    loadThen: (start: () => void, onError: (error: unknown) => void): void => {
      if (isLoading) return;
      isLoading = true;
      load().then(start).catch(onError);
    },
    isAwaited: (file: string) => awaited.has(file),
    dropFiles: (isDropped: (file: string) => boolean): void => {
      for (const file of [...awaited]) if (isDropped(file)) awaited.delete(file);
    },
  };
}

/**
 * Keeps the searches of all sessions. In the background one runs at a time, for launchers' files, after their plan; it stops for planning
 * and for searches that a person starts, and starts over after them.
 */
export function createLayoutSearches(sessions: PlanSessions, host: LayoutSearchHost): LayoutSearches {
  const searches = new Map<string, ConfigSearch>();
  const listeners = new Set<(file: string) => void>();
  let lastId = 0;
  let isDisposed = false;
  const code = searchCode();

  const ensureSearch = (file: string, { openSearch }: SearchCode): ConfigSearch => {
    const known = searches.get(file);
    if (known !== undefined) return known;
    const search = openSearch(
      {
        sessions,
        host,
        newId: () => `${file}#${++lastId}`,
        isKept: () => searches.get(file) === search,
        changed: () => {
          for (const listener of listeners) listener(file);
        },
      },
      file,
    );
    searches.set(file, search);
    return search;
  };
  const isAutomatic = ({ format, plan, file }: SessionState): boolean =>
    plan !== null && format !== 'pytorch-schedule' && isLauncher(format) && host.isAutomatic(file);
  const isWanted = (state: SessionState, { questionIfAny }: SearchCode): boolean => {
    const question = isAutomatic(state) ? questionIfAny(state) : null;
    return question !== null && searches.get(state.file)?.isOpenQuestion(question) !== false;
  };
  /** Runs background searches one at a time, while nothing plans and no person searches. */
  const startNextSearch = (): void => {
    if (isDisposed) return;
    const all = sessions.all();
    const running = [...searches.values()].flatMap(({ job }) => job() ?? []);
    const isBusy = all.some(({ progress }) => progress !== null) || running.some(({ background }) => !background);
    if (isBusy) for (const { background, abort } of running) if (background) abort.abort();
    if (isBusy || running.length > 0) return;
    const loaded = code.loaded();
    if (loaded === null) {
      if (all.some(isAutomatic)) code.loadThen(startNextSearch, host.reportBug);
      return;
    }
    const next = all.find((state) => isWanted(state, loaded));
    if (next !== undefined) void ensureSearch(next.file, loaded).run(true).then(startNextSearch, startNextSearch);
  };
  const searchAsked = async (file: string): Promise<SearchResult> => {
    const work = ensureSearch(file, code.loaded() ?? (await code.loadFor(file))).run(false);
    startNextSearch();
    try {
      return await work;
    } finally {
      startNextSearch();
    }
  };

  const subscription = sessions.onDidChange((state) => {
    for (const [file, search] of searches) {
      if (sessions.get(file) !== undefined) continue;
      search.job()?.abort.abort();
      searches.delete(file);
    }
    code.dropFiles((file) => sessions.get(file) === undefined);
    searches.get(state.file)?.age(state);
    startNextSearch();
  });

  return {
    state: (file) => searches.get(file)?.state() ?? null,
    findings: (file) => searches.get(file)?.findings() ?? noFindings,
    search: searchAsked,
    current: async (file) => {
      const known = searches.get(file)?.state();
      if ((known?.answer ?? null) === null || (known?.staleEdits ?? 0) > 0) await searchAsked(file);
      const answer = searches.get(file)?.state().answer ?? null;
      if (answer === null) throw new CancelledError();
      return answer;
    },
    isAsked: (file) => code.isAwaited(file) || searches.get(file)?.job()?.background === false,
    cancel: (file) => {
      code.dropFiles((awaited) => awaited === file);
      searches.get(file)?.job()?.abort.abort();
    },
    open: async (file, point) => ensureSearch(file, code.loaded() ?? (await code.loadFor(file))).open(point),
    onDidChange: (listener) => {
      listeners.add(listener);
      return { dispose: () => listeners.delete(listener) };
    },
    dispose: () => {
      isDisposed = true;
      subscription.dispose();
      code.dropFiles(() => true);
      for (const { job } of searches.values()) job()?.abort.abort();
      searches.clear();
      listeners.clear();
    },
  };
}
