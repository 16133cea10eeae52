import type { Comparisons } from '../../features/compare/host/comparisons';
import { toPageComparison } from '../../features/compare/host/page';
import type { Prefills } from '../../features/prefill/host/prefills';
import { toPagePrefill } from '../../features/prefill/host/shown';
import { toPageLayout } from '../../host/pages/layout-page';
import { toPageHistory, toPageWhatIf, type TabPartSources } from '../../host/pages/tab-parts';
import type { LayoutSearches } from '../../host/sessions/layout-searches';
import type { PlanHistories } from '../../host/sessions/plan-histories';
import type { PlanSessions } from '../../host/sessions/plan-sessions';
import type { WhatIfs } from '../../host/sessions/what-ifs';
import type { PageEdits } from '../commands/page-edits';
import type { Profiles } from '../sessions/profiles';
import { displayPath } from '../sessions/sources';

/** Where what tabs show of a session comes from. */
export interface TabStores {
  readonly sessions: PlanSessions;
  readonly profiles: Profiles;
  readonly layouts: LayoutSearches;
  readonly comparisons: Comparisons;
  readonly prefills: Prefills;
  readonly whatIfs: WhatIfs;
  readonly histories: PlanHistories;
  readonly edits: PageEdits;
}

/** What each tab shows of a session in addition to its plan, and when that changes. */
export function pageParts({ sessions, profiles, layouts, comparisons, prefills, whatIfs, histories, edits }: TabStores): TabPartSources {
  const sessionTexts = (file: string): ReadonlyMap<string, string> => sessions.get(file)?.texts ?? new Map<string, string>();
  return {
    profile: { of: ({ file }) => profiles.state(file), changed: profiles.onDidChange },
    layout: { of: (session) => toPageLayout(session, layouts.state(session.file)), changed: layouts.onDidChange },
    comparison: {
      of: ({ file }, sent) => toPageComparison(file, comparisons.state(file), { displayPath, sessionTexts, sent }),
      changed: comparisons.onDidChange,
    },
    prefill: { of: (session) => toPagePrefill(session, prefills.state(session.file), displayPath), changed: prefills.onDidChange },
    whatIf: { of: (session) => toPageWhatIf(session, whatIfs.state(session.file), displayPath), changed: whatIfs.onDidChange },
    history: { of: (session) => toPageHistory(session, histories, edits.canUndo(session.file)), changed: histories.onDidChange },
  };
}
