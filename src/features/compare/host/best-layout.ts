import type { PlannerClient } from '../../../host/planner/client';
import type { LayoutSearches } from '../../../host/sessions/layout-searches';
import type { ComparisonHost } from './comparison-host';

/** The best layouts of searches, as comparisons see them. */
export function bestLayouts(
  layouts: LayoutSearches,
  plan: PlannerClient['plan'],
): Pick<ComparisonHost, 'best' | 'bestAnswer' | 'onDidChangeBest'> {
  return {
    best: async (file, signal) => {
      const stop = (): void => layouts.cancel(file);
      signal.addEventListener('abort', stop, { once: true });
      try {
        const { id, result } = await layouts.current(file);
        const { request, best, launched } = result;
        const { toPlanRequest } = await import('../../../core/layout-search/request-of');
        return { plan: await plan(toPlanRequest(request, best), { signal }), isLaunched: launched !== null, answer: id };
      } finally {
        signal.removeEventListener('abort', stop);
      }
    },
    bestAnswer: (file) => {
      const { answer = null, staleEdits = 0 } = layouts.state(file) ?? {};
      return answer === null ? null : { answer: answer.id, staleEdits };
    },
    onDidChangeBest: layouts.onDidChange,
  };
}
