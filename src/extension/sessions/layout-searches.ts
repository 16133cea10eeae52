import { CancelledError, ExpectedError, throwIfCancelled } from '../../core/errors';
import type { Finding } from '../../core/findings';
import { isLauncher } from '../../core/load/readers';
import { searchFindings } from '../../core/rules/plan/search-findings';
import type { Plan } from '../../core/planner/plan';
import type { PlanRequest } from '../../core/spec/request';
import type { SearchStanding } from '../../core/layout-search/answer';
import type { SearchResult } from '../../core/layout-search/result';
import type { SearchProblem } from '../../core/layout-search/search-problem';
import type { PlannerClient } from '../../worker/client';
import type { PlanSessions } from './plan-sessions';
import type { SessionState } from './session-state';

/** What is known of the layouts of one config. Replaced whole on every change. */
export interface LayoutSearch {
  /** How far a search under way is; null before its first word, undefined when none is under way. */
  readonly running: SearchStanding | null | undefined;
  /** The last good answer, with an id that no other answer has. */
  readonly answer: { readonly id: string; readonly result: SearchResult } | null;
  /** Edits since `answer` that changed what was asked, or may have. */
  readonly staleEdits: number;
  /** Why the last search stopped. */
  readonly error: ExpectedError | null;
  /** A plan of `answer` as a full plan, by its index in `plansOf`. */
  readonly opened: { readonly index: number; readonly plan: Plan } | null;
}

/** What searches need of the extension. */
export interface LayoutSearchHost {
  /** On a thread of its own: plans are never behind a search. */
  readonly search: PlannerClient['search'];
  /** @throws ExpectedError where there is nothing to search. */
  readonly problemOf: (state: SessionState, plan: Plan) => SearchProblem;
  /** The request that plans the `index`th of a result's `plansOf`; null when there is none. */
  readonly requestAt: (result: SearchResult, index: number) => PlanRequest | null;
  readonly plan: PlannerClient['plan'];
  /** Whether layouts of a launcher's file are searched without being asked for. */
  readonly isAutomatic: (file: string) => boolean;
  readonly reportBug: (error: unknown) => void;
}

/** Searches of layouts, one a config. An answer ages with edits and is never lost. */
export interface LayoutSearches {
  /** Null while nothing was searched for. */
  readonly stateOf: (file: string) => LayoutSearch | null;
  /** What a current answer has to say about the files of a config. */
  readonly findingsOf: (file: string) => readonly Finding[];
  /** Searches afresh, with what would help most. Resolves to the answer. @throws ExpectedError what stopped it; CancelledError. */
  readonly search: (file: string) => Promise<SearchResult>;
  /** The answer, searched for first where there is none that is current. @throws as `search`. */
  readonly current: (file: string) => Promise<{ readonly id: string; readonly result: SearchResult }>;
  /** Whether a search for a person is under way. */
  readonly isAsked: (file: string) => boolean;
  readonly cancel: (file: string) => void;
  /** Plans a plan of the answer whole; null: forgets it. @throws ExpectedError of the planner, `layout-outdated` for what is not in the answer `id`; CancelledError. */
  readonly open: (file: string, point: { readonly answer: string; readonly index: number } | null) => Promise<void>;
  readonly onDidChange: (listener: (file: string) => void) => { dispose: () => void };
  readonly dispose: () => void;
}

interface Entry {
  state: LayoutSearch;
  /** Of which question `state.answer` is the answer, and at how many edits that was asked. */
  asked: { readonly key: string; readonly edits: number } | null;
  /** The search under way: for a person, or in the background. */
  job: { readonly abort: AbortController; readonly background: boolean } | null;
  /** Of a background search that failed: not tried again. */
  failed: string | null;
  findings: { readonly of: readonly unknown[]; readonly list: readonly Finding[] } | null;
}

const nothing: LayoutSearch = { running: undefined, answer: null, staleEdits: 0, error: null, opened: null };

/**
 * Keeps the searches of all sessions. In the background one runs at a time, for launchers' files, after their plan; it makes way for planning and for what a person asks for, and begins again after.
 */
export function createLayoutSearches(sessions: PlanSessions, host: LayoutSearchHost): LayoutSearches {
  const entries = new Map<string, Entry>();
  const listeners = new Set<(file: string) => void>();
  let lastId = 0;

  function entryOf(file: string): Entry {
    const known = entries.get(file);
    if (known !== undefined) return known;
    const entry: Entry = { state: nothing, asked: null, job: null, failed: null, findings: null };
    entries.set(file, entry);
    return entry;
  }

  function update(file: string, entry: Entry, change: Partial<LayoutSearch>): void {
    if (entries.get(file) !== entry) return;
    entry.state = { ...entry.state, ...change };
    for (const listener of listeners) listener(file);
  }

  /** What is asked of a session now that its plan is current; null while it is not. */
  function questionOf(
    state: SessionState | undefined,
  ): { readonly problem: SearchProblem; readonly key: string; readonly edits: number } | null {
    if (state === undefined || state.plan === null || state.progress !== null || state.staleEdits > 0 || state.error !== null) return null;
    const problem = host.problemOf(state, state.plan);
    return { problem, key: keyOf(problem), edits: state.edits };
  }

  async function run(file: string, background: boolean): Promise<SearchResult> {
    const entry = entryOf(file);
    entry.job?.abort.abort();
    const abort = new AbortController();
    const job = { abort, background };
    entry.job = job;
    update(file, entry, { running: null, error: null });
    let key: string | null = null;
    try {
      const state = sessions.get(file);
      if (state !== undefined && state.progress !== null) await sessions.ensure(file, state.format);
      throwIfCancelled(abort.signal);
      const question = questionOf(sessions.get(file)) ?? refuse(sessions.get(file));
      key = question.key;
      const told = (running: SearchStanding): void => {
        if (entry.job !== job) return;
        if (running.kind === 'found') answered(file, entry, question, running.result);
        else update(file, entry, { running });
      };
      const result = await host.search(question.problem, { signal: abort.signal, improvements: !background, onStanding: told });
      if (entry.job === job) answered(file, entry, question, result, { running: undefined });
      return result;
    } catch (error) {
      if (entry.job === job) update(file, entry, { running: undefined, error: shown(error, background) });
      if (!(error instanceof CancelledError)) entry.failed = key;
      throw error;
    } finally {
      if (entry.job === job) entry.job = null;
    }
  }

  /** With what would help most the answer comes twice: the same plans, so the same id. */
  function answered(
    file: string,
    entry: Entry,
    { key, edits }: { readonly key: string; readonly edits: number },
    result: SearchResult,
    more: Partial<LayoutSearch> = {},
  ): void {
    const before = entry.state.answer;
    const isSame = before !== null && before.result.best.iterationMs === result.best.iterationMs && entry.asked?.key === key;
    entry.asked = { key, edits };
    const answer = { id: isSame ? before.id : `${file}#${++lastId}`, result };
    const staleEdits = (sessions.get(file)?.edits ?? edits) - edits;
    update(file, entry, { answer, staleEdits, error: null, ...(isSame ? {} : { opened: null }), ...more });
  }

  function shown(error: unknown, background: boolean): ExpectedError | null {
    if (error instanceof CancelledError) return null;
    if (error instanceof ExpectedError) return background ? null : error;
    host.reportBug(error);
    return new ExpectedError('internal', 'TeraPipe failed to search the layouts', 'the log has the details; please report them');
  }

  /** An edit makes an answer old; a plan that asks the same makes it current again. */
  function age(state: SessionState): void {
    const entry = entries.get(state.file);
    if (entry === undefined || entry.asked === null) return;
    const now = soft(() => questionOf(state));
    if (now?.key === entry.asked.key) entry.asked = now;
    const edits = state.edits - entry.asked.edits;
    const staleEdits = now !== null && now.key !== entry.asked.key ? Math.max(1, edits) : edits;
    if (staleEdits !== entry.state.staleEdits) update(state.file, entry, { staleEdits });
  }

  function soft<T>(ask: () => T): T | null {
    try {
      return ask();
    } catch (error) {
      if (error instanceof ExpectedError) return null;
      throw error;
    }
  }

  function isWanted(state: SessionState): boolean {
    if (state.format === 'pytorch-schedule' || !isLauncher(state.format) || !host.isAutomatic(state.file)) return false;
    const question = soft(() => questionOf(state));
    const entry = entries.get(state.file);
    return question !== null && entry?.asked?.key !== question.key && entry?.failed !== question.key;
  }

  /** Runs what is wanted in the background, one at a time, while nobody plans and no person searches. */
  function pump(): void {
    const all = sessions.all();
    const running = [...entries.values()].flatMap(({ job }) => (job === null ? [] : [job]));
    const isBusy = all.some(({ progress }) => progress !== null) || running.some(({ background }) => !background);
    if (isBusy) for (const { background, abort } of running) if (background) abort.abort();
    if (isBusy || running.length > 0) return;
    const next = all.find(isWanted);
    if (next !== undefined) void run(next.file, true).then(pump, pump);
  }

  const subscription = sessions.onDidChange((state) => {
    for (const [file, entry] of entries) {
      if (sessions.get(file) !== undefined) continue;
      entry.job?.abort.abort();
      entries.delete(file);
    }
    age(state);
    pump();
  });

  async function searched(file: string): Promise<SearchResult> {
    const work = run(file, false);
    pump();
    try {
      return await work;
    } finally {
      pump();
    }
  }

  return {
    stateOf: (file) => entries.get(file)?.state ?? null,
    findingsOf: (file) => {
      const entry = entries.get(file);
      const state = sessions.get(file);
      const result = entry?.state.answer?.result;
      if (entry === undefined || result === undefined || state === undefined || state.run === null || entry.state.staleEdits > 0) return [];
      const of = [state.run, result];
      if (entry.findings === null || entry.findings.of.some((part, index) => part !== of[index]))
        entry.findings = { of, list: searchFindings(state.run, result.launched, result) };
      return entry.findings.list;
    },
    search: searched,
    current: async (file) => {
      const known = entries.get(file)?.state;
      if ((known?.answer ?? null) === null || (known?.staleEdits ?? 0) > 0) await searched(file);
      const answer = entries.get(file)?.state.answer ?? null;
      if (answer === null) throw new CancelledError();
      return answer;
    },
    isAsked: (file) => entries.get(file)?.job?.background === false,
    cancel: (file) => entries.get(file)?.job?.abort.abort(),
    open: async (file, point) => {
      const entry = entryOf(file);
      if (point === null) {
        update(file, entry, { opened: null });
        return;
      }
      const { answer } = entry.state;
      const request = answer?.id === point.answer ? host.requestAt(answer.result, point.index) : null;
      if (request === null) throw outdated();
      const plan = await host.plan(request);
      if (entry.state.answer?.id !== point.answer) throw outdated();
      update(file, entry, { opened: { index: point.index, plan } });
    },
    onDidChange: (listener) => {
      listeners.add(listener);
      return { dispose: () => listeners.delete(listener) };
    },
    dispose: () => {
      subscription.dispose();
      for (const { job } of entries.values()) job?.abort.abort();
      entries.clear();
      listeners.clear();
    },
  };
}

/** A page or a picker that named a plan of an answer which is not the last one. */
export function outdated(): ExpectedError {
  return new ExpectedError('layout-outdated', 'That layout is of an older search', 'pick one of the layouts shown now');
}

function refuse(state: SessionState | undefined): never {
  const error = state?.error ?? null;
  if (error !== null) throw error;
  throw new ExpectedError('no-plan', 'There is nothing to search: the config has no plan', 'fix the config first');
}

/** Equal for questions with equal answers. */
function keyOf({ request, fixed }: SearchProblem): string {
  return JSON.stringify([{ ...request, assumptions: [] }, [...fixed].sort()]);
}
