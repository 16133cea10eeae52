import * as vscode from 'vscode';
import { ExpectedError } from '../../../core/errors';
import { toPlanRequest } from '../../../core/layout-search/request-of';
import type { PlannerClient } from '../../../host/planner/client';
import type { ComparisonHost } from '../host/comparison-host';
import type { LayoutSearches } from '../../../host/sessions/layout-searches';
import { displayPath, uriBaseName } from '../../../extension/sessions/sources';
import { sentence } from '../../../core/sentence';

/** The searches of layouts, the planner and the disk, as comparisons see them. */
export function comparisonHost(layouts: LayoutSearches, plan: PlannerClient['plan']): Omit<ComparisonHost, 'compare' | 'reportBug'> {
  return {
    displayPath,
    best: async (file, signal) => {
      const stop = (): void => layouts.cancel(file);
      signal.addEventListener('abort', stop, { once: true });
      try {
        const { id, result } = await layouts.current(file);
        const { request, best, launched } = result;
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
    localPath: (file) => {
      const uri = vscode.Uri.parse(file);
      if (uri.scheme === 'file') return uri.fsPath;
      throw new ExpectedError(
        'measured-not-local',
        sentence`${uriBaseName(uri)} is not on this machine's disk`,
        sentence`copy it to a folder on this machine`,
      );
    },
  };
}
