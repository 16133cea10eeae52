import * as vscode from 'vscode';
import { ExpectedError } from '../../../core/errors';
import type { PlannerClient } from '../../../host/planner/client';
import { bestLayouts } from '../host/best-layout';
import type { ComparisonHost } from '../host/comparison-host';
import type { LayoutSearches } from '../../../host/sessions/layout-searches';
import { displayPath, uriBaseName } from '../../../extension/sessions/sources';
import { sentence } from '../../../core/sentence';

/** The searches of layouts, the planner and the disk, as comparisons see them. */
export function comparisonHost(layouts: LayoutSearches, plan: PlannerClient['plan']): Omit<ComparisonHost, 'compare' | 'reportBug'> {
  return {
    ...bestLayouts(layouts, plan),
    displayPath,
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
