import type { CancelSignal } from '../errors';
import { searchLayouts } from './assemble';
import { mostHelpful, whatIfs } from './improvements';
import type { Improvement, SearchResult } from './result';
import type { SearchProgress } from './search';
import type { SearchProblem } from './search-problem';
import type { Sentence } from '../sentence';

/** What a search reports in addition to the best layout. */
export interface SearchExtras {
  /** Also what would help most: a search of its own for each change. */
  readonly improvements: boolean;
  /** Left out or `true`: the tables of the answer whole; `false`: as `SearchOptions`, with the same best and proof. */
  readonly tables?: boolean | undefined;
}

/** Progress of a search. Plain data that crosses threads. */
export type SearchUpdate =
  /** The best so far (null: nothing that fits yet), what no layout is faster than, and counts. */
  | ({ readonly kind: 'searching' } & SearchProgress)
  /** Once, where improvements were asked for: all the rest of the answer. */
  | { readonly kind: 'found'; readonly result: SearchResult }
  /** Searches with `change`, the `index`th (from 0) of `count`; `improvements` are those found so far, the most helpful first. */
  | {
      readonly kind: 'helping';
      readonly change: Sentence;
      readonly index: number;
      readonly count: number;
      readonly improvements: readonly Improvement[];
    };

/**
 * The best layout for a problem, the others, and what would help most when asked for.
 * @throws ExpectedError `search-*`; CancelledError.
 */
export function answerSearch(
  problem: SearchProblem,
  { improvements, tables }: SearchExtras,
  { signal, onUpdate }: { readonly signal?: CancelSignal; readonly onUpdate?: (update: SearchUpdate) => void } = {},
): SearchResult {
  const result = searchLayouts(problem, { signal, tables, onProgress: (at) => onUpdate?.({ kind: 'searching', ...at }) });
  if (!improvements) return result;
  onUpdate?.({ kind: 'found', result });
  const changes = whatIfs(problem, result);
  const found: Improvement[] = [];
  changes.forEach(({ change, searchAgain }, index) => {
    onUpdate?.({ kind: 'helping', change, index, count: changes.length, improvements: mostHelpful(found) });
    found.push(searchAgain(signal));
  });
  return { ...result, improvements: mostHelpful(found) };
}
