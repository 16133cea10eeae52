import { CancelledError, ExpectedError, throwIfCancelled } from '../../core/errors';
import { noFindings, type Finding } from '../../core/findings';
import type { SearchUpdate } from '../../core/layout-search/answer';
import { listPlans } from '../../core/layout-search/plans';
import { toSearchProblem } from '../../core/layout-search/problem';
import { toPlanRequest } from '../../core/layout-search/request-of';
import type { SearchResult } from '../../core/layout-search/result';
import type { SearchProblem } from '../../core/layout-search/search-problem';
import { searchFindings } from '../../core/rules/plan/search-findings';
import type { LayoutSearch, LayoutSearchHost } from './layout-search-host';
import type { PlanSessions } from './plan-sessions';
import type { SessionState } from './session-state';
import { sentence } from '../../core/sentence';

/** A search question about a session. */
interface Question {
  readonly problem: SearchProblem;
  /** Equal for questions with equal answers. */
  readonly key: string;
  /** Of the session when it was asked. */
  readonly edits: number;
}

/** A running search: for a person, or in the background. */
interface SearchJob {
  readonly abort: AbortController;
  readonly background: boolean;
}

/** The search of one config. */
export interface ConfigSearch {
  readonly state: () => LayoutSearch;
  readonly job: () => SearchJob | null;
  /** Drops a running search and starts a new one. @throws ExpectedError what stopped it; CancelledError. */
  readonly run: (background: boolean) => Promise<SearchResult>;
  /** An edit outdates the answer; a plan with the same question makes it current again. */
  readonly age: (session: SessionState) => void;
  /** Whether a question has neither an answer nor a failure. */
  readonly isOpenQuestion: (question: Question) => boolean;
  readonly findings: () => readonly Finding[];
  /** @throws as `LayoutSearches.open`. */
  readonly open: (point: { readonly answer: string; readonly index: number } | null) => Promise<void>;
}

interface SearchContext {
  readonly sessions: PlanSessions;
  readonly host: LayoutSearchHost;
  /** A unique id for an answer. */
  readonly newId: () => string;
  /** Whether this is still the search of its config. */
  readonly isKept: () => boolean;
  readonly changed: () => void;
}

const nothing: LayoutSearch = { running: undefined, answer: null, staleEdits: 0, error: null, opened: null };

export function openSearch({ sessions, host, newId, isKept, changed }: SearchContext, file: string): ConfigSearch {
  let state = nothing;
  /** The question that `state.answer` answers, and the edit count when it was asked. */
  let answeredQuestion: Pick<Question, 'key' | 'edits'> | null = null;
  let job: SearchJob | null = null;
  /** Key of the background search that failed; it is not retried. */
  let failed: string | null = null;
  let findings: { readonly of: readonly unknown[]; readonly list: readonly Finding[] } | null = null;

  const update = (change: Partial<LayoutSearch>): void => {
    if (!isKept()) return;
    state = { ...state, ...change };
    changed();
  };
  /** The answer comes twice, the second time with suggested improvements; both have the same id. */
  const answered = ({ key, edits }: Question, result: SearchResult, running: SearchUpdate | null | undefined): void => {
    const before = state.answer;
    const isSame = before !== null && before.result.best.iterationMs === result.best.iterationMs && answeredQuestion?.key === key;
    answeredQuestion = { key, edits };
    const answer = { id: isSame ? before.id : newId(), result };
    const staleEdits = (sessions.get(file)?.edits ?? edits) - edits;
    update({ answer, staleEdits, error: null, running, opened: isSame ? state.opened : null });
  };
  const run = async (background: boolean): Promise<SearchResult> => {
    job?.abort.abort();
    const own = { abort: new AbortController(), background };
    const { signal } = own.abort;
    job = own;
    update({ running: null, error: null });
    let key: string | null = null;
    try {
      const session = sessions.get(file);
      if (session !== undefined && session.progress !== null) await sessions.ensure(file, session.format);
      throwIfCancelled(signal);
      const question = currentQuestion(sessions.get(file)) ?? refuse(sessions.get(file));
      key = question.key;
      const onUpdate = (standing: SearchUpdate): void => {
        if (job !== own) return;
        if (standing.kind === 'found') answered(question, standing.result, state.running);
        else update({ running: standing });
      };
      const result = await host.search(question.problem, { signal, improvements: !background, onUpdate });
      if (job === own) answered(question, result, undefined);
      return result;
    } catch (error) {
      if (job === own) update({ running: undefined, error: shownError(error, background, host) });
      if (!(error instanceof CancelledError)) failed = key;
      throw error;
    } finally {
      if (job === own) job = null;
    }
  };
  return {
    state: () => state,
    job: () => job,
    run,
    age: (session) => {
      if (answeredQuestion === null) return;
      const now = questionIfAny(session);
      if (now?.key === answeredQuestion.key) answeredQuestion = now;
      const edits = session.edits - answeredQuestion.edits;
      const staleEdits = now !== null && now.key !== answeredQuestion.key ? Math.max(1, edits) : edits;
      if (staleEdits !== state.staleEdits) update({ staleEdits });
    },
    isOpenQuestion: ({ key }) => answeredQuestion?.key !== key && failed !== key,
    findings: () => {
      const run = sessions.get(file)?.run ?? null;
      const result = state.answer?.result;
      if (result === undefined || run === null || state.staleEdits > 0) return noFindings;
      const of = [run, result];
      if (findings?.of.every((part, index) => part === of[index]) !== true)
        findings = { of, list: sessions.notSuppressed(file, searchFindings(run, result.launched, result)) };
      return findings.list;
    },
    open: async (point) => {
      if (point === null) {
        update({ opened: null });
        return;
      }
      const { answer } = state;
      const result = answer?.id === point.answer ? answer.result : null;
      const listed = result === null ? undefined : listPlans(result)[point.index];
      if (result === null || listed === undefined) throw outdated();
      const plan = await host.plan(toPlanRequest(result.request, listed.plan));
      if (state.answer?.id !== point.answer) throw outdated();
      update({ opened: { index: point.index, plan } });
    },
  };
}

/** The question of a session whose plan is current; null while it is not. @throws ExpectedError where there is nothing to search. */
function currentQuestion(state: SessionState | undefined): Question | null {
  if (state === undefined || state.plan === null || state.progress !== null || state.staleEdits > 0 || state.error !== null) return null;
  if (state.run === null || state.format === 'pytorch-schedule') throw new Error('a planned config has a run');
  const problem = toSearchProblem(state.run, state.plan.request);
  return { problem, key: questionKey(problem), edits: state.edits };
}

/** As `currentQuestion`, null too where there is nothing to search. */
export function questionIfAny(state: SessionState): Question | null {
  try {
    return currentQuestion(state);
  } catch (error) {
    if (error instanceof ExpectedError) return null;
    throw error;
  }
}

function shownError(error: unknown, background: boolean, host: LayoutSearchHost): ExpectedError | null {
  if (error instanceof CancelledError) return null;
  if (error instanceof ExpectedError) return background ? null : error;
  host.reportBug(error);
  return new ExpectedError(
    'internal',
    sentence`TeraPipe failed to search the layouts`,
    sentence`the log has the details; please report them`,
  );
}

/** A page or a picker named a plan of an older answer. */
export function outdated(): ExpectedError {
  return new ExpectedError('layout-outdated', sentence`That layout is of an older search`, sentence`pick one of the layouts shown now`);
}

function refuse(state: SessionState | undefined): never {
  const error = state?.error ?? null;
  if (error !== null) throw error;
  throw new ExpectedError('no-plan', sentence`There is nothing to search: the config has no plan`, sentence`fix the config first`);
}

/** Equal for questions with equal answers. */
function questionKey({ request, fixed }: SearchProblem): string {
  return JSON.stringify([{ ...request, assumptions: [] }, [...fixed].sort()]);
}
