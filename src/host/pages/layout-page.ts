import { isApplied } from '../../core/launchers/registry';
import type { SearchResult } from '../../core/layout-search/result';
import {
  launchedPageLayout,
  toLayoutAnswer,
  noLayoutState,
  nothingYet,
  withUpdate,
  type LayoutAnswer,
  type LayoutState,
} from '../../protocol/layout';
import type { TabParts } from '../../protocol/page';
import type { PageError } from '../../protocol/page-error';
import type { LayoutSearch } from '../sessions/layout-search-host';
import type { SessionState } from '../sessions/session-state';

/** The Layout view's part of a page; null for what has no layout to search. */
export function toPageLayout(session: SessionState, search: LayoutSearch | null): LayoutState | null {
  const { plan, run } = session;
  if (plan === null || run === null) return null;
  const names = run.layout.tensor !== undefined || run.layout.pipeline !== undefined;
  const launched = names ? launchedPageLayout(plan) : null;
  if (search === null) return { ...noLayoutState, launched };
  const { running, answer, staleEdits, error, opened } = search;
  const state: LayoutState = {
    running: running === undefined ? null : nothingYet,
    answer: answer === null ? null : pageAnswer(answer, isApplied(run.format)),
    staleEdits,
    launched,
    error: error === null ? null : searchPageError(error),
    opened: opened?.index ?? null,
  };
  return running === null || running === undefined ? state : withUpdate(state, running, answer?.id ?? '');
}

/** Parts of the side view, whose verdict has the best layout among what would make the config's own plan fit. */
export function sideParts(session: SessionState, search: LayoutSearch | null): TabParts {
  const layout = toPageLayout(session, search);
  return { layout: layout && { ...layout, running: layout.running === null ? null : nothingYet, opened: null } };
}

function searchPageError({ code, what: message, remedy }: NonNullable<LayoutSearch['error']>): PageError {
  return { code, message, remedy, place: null, placeText: null };
}

const answersSent = new WeakMap<SearchResult, LayoutAnswer>();

/** Made once for each result: a page gets the same one many times while something else runs. */
function pageAnswer({ result, id }: NonNullable<LayoutSearch['answer']>, isWritten: boolean): LayoutAnswer {
  const known = answersSent.get(result);
  if (known?.id === id) return known;
  const made = toLayoutAnswer(result, id);
  const answer: LayoutAnswer = isWritten ? made : { ...made, isReadOnly: true };
  answersSent.set(result, answer);
  return answer;
}
