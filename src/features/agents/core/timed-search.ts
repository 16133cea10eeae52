import { CancelledError } from '../../../core/errors';
import { formatCount, formatDuration } from '../../../core/format';
import { answerSearch } from '../../../core/layout-search/answer';
import type { SearchResult } from '../../../core/layout-search/result';
import type { SearchProgress } from '../../../core/layout-search/search';
import type { SearchProblem } from '../../../core/layout-search/search-problem';
import type { ToolHost } from './tool';

/** Progress of a search that has found something. */
export interface FoundSoFar extends SearchProgress {
  readonly best: NonNullable<SearchProgress['best']>;
}

/** A search that ended by itself, or what it had found when its time was up; null: nothing that fits. */
type TimedSearch =
  | { readonly isDone: true; readonly result: SearchResult }
  | { readonly isDone: false; readonly found: FoundSoFar | null; readonly seconds: number };

/**
 * Searches for some time.
 * @param times `seconds`, and `toFirst` until something fits, where that is more. @param instead asked once, where nothing that fits is
 * found in `seconds`; true: there is another answer, and the search ends. @throws CancelledError where the host gives it up.
 */
export function searchFor(
  problem: SearchProblem,
  { seconds, toFirst }: { readonly seconds: number; readonly toFirst: number },
  host: ToolHost,
  instead: () => boolean = () => false,
): TimedSearch {
  const startMs = host.clock();
  const spent = (): number => (host.clock() - startMs) / 1000;
  const soFar: { found: FoundSoFar | null } = { found: null };
  let hasOther: boolean | null = null;
  const signal = {
    get aborted() {
      if (host.signal.aborted) return true;
      if (spent() <= seconds) return false;
      if (soFar.found !== null) return true;
      hasOther ??= instead();
      return hasOther || spent() > toFirst;
    },
  };
  try {
    const result = answerSearch(
      problem,
      { improvements: false },
      {
        signal,
        onUpdate: (update) => {
          if (update.kind !== 'searching') return;
          const { best, counts } = update;
          if (best !== null) soFar.found = { ...update, best };
          const found = best === null ? 'nothing fits yet' : `best ${formatDuration(best.iterationMs)}`;
          host.progress(`${found}; ${formatCount(counts.evaluated)} layouts simulated`);
        },
      },
    );
    return { isDone: true, result };
  } catch (error) {
    if (!(error instanceof CancelledError) || host.signal.aborted) throw error;
    return { isDone: false, found: soFar.found, seconds: spent() };
  }
}
