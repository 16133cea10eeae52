import type { TabParts } from '../../protocol/page';
import type { Comparisons } from '../../features/compare/vscode/comparisons';
import type { LayoutSearches } from '../sessions/layout-searches';
import type { PlanSessions } from '../sessions/plan-sessions';
import type { SessionState } from '../sessions/session-state';
import type { Profiles } from '../sessions/profiles';
import { displayPath } from '../sessions/sources';
import { pageComparisonOf } from '../../features/compare/vscode/page';
import { pageLayoutOf } from './layout-page';
import { pagePrefillOf } from '../../features/prefill/vscode/shown';
import type { Prefills } from '../../features/prefill/vscode/prefills';
import { figuresOf, type WhatIfState } from '../../protocol/what-if';
import type { PageEdits } from '../commands/page-edits';
import { mostPinned, type PlanHistories } from '../sessions/plan-histories';
import type { WhatIf, WhatIfs } from '../sessions/what-ifs';
import { chosenOf } from '../../core/planner/plan';
import { cutOf } from '../../core/partition/chunks';
import { scheduleOn } from '../../core/schedules/on-layout';
import { pageErrorOf } from '../sessions/page-state';

/** Where the parts of a tab's state come from. */
export interface PartSources {
  readonly sessions: PlanSessions;
  readonly profiles: Profiles;
  readonly layouts: LayoutSearches;
  readonly comparisons: Comparisons;
  readonly whatIfs: WhatIfs;
  readonly histories: PlanHistories;
  readonly edits: PageEdits;
  readonly prefills: Prefills;
}

/** What a tab shows of a config, and the event with the config whose part changed. @param sent id of the comparison that the page has */
interface Source<T> {
  readonly of: (session: SessionState, sent: string | null) => T;
  readonly changed: (listener: (file: string) => void) => { readonly dispose: () => void };
}

/** The host's side of what tabs show in addition to the plan. */
export function tabParts({ sessions, profiles, layouts, comparisons, whatIfs, histories, edits, prefills }: PartSources): {
  readonly [Name in keyof TabParts]: Source<TabParts[Name]>;
} {
  const textsOf = (file: string): ReadonlyMap<string, string> => sessions.get(file)?.texts ?? new Map<string, string>();
  return {
    profile: { of: ({ file }) => profiles.stateOf(file), changed: profiles.onDidChange },
    layout: { of: (session) => pageLayoutOf(session, layouts.stateOf(session.file)), changed: layouts.onDidChange },
    comparison: {
      of: ({ file }, sent) => pageComparisonOf(file, comparisons.stateOf(file), { displayPath, textsOf, sent }),
      changed: comparisons.onDidChange,
    },
    prefill: { of: (session) => pagePrefillOf(session, prefills.stateOf(session.file), displayPath), changed: prefills.onDidChange },
    whatIf: { of: (session) => pageWhatIfOf(session, whatIfs.stateOf(session.file)), changed: whatIfs.onDidChange },
    history: {
      of: ({ file, plan }) => (plan === null ? null : { plans: histories.plansOf(file), mostPinned, canUndo: edits.canUndo(file) }),
      changed: histories.onDidChange,
    },
  };
}

/** What all tabs show of a config. */
export function partsOf(sources: ReturnType<typeof tabParts>, session: SessionState, sent: string | null): TabParts {
  return Object.fromEntries(Object.entries(sources).map(([name, { of }]) => [name, of(session, sent)])) as TabParts;
}

function pageWhatIfOf({ plan: current, texts, launcher }: SessionState, tried: WhatIf | null): WhatIfState | null {
  if (current === null) return null;
  const { schedule } = current.request;
  const { sets, plan, error } = tried ?? { sets: [], plan: null, error: null };
  return {
    cut: cutOf(current.request, chosenOf(current).schedule),
    leavesOpen: launcher === null,
    chunks: schedule === null ? 'several' : scheduleOn(schedule, { virtualStages: 2 }).chunksPerStage,
    sets,
    tried: plan === null ? null : figuresOf(plan),
    error: error === null ? null : pageErrorOf(error, error.place ?? null, texts, displayPath),
  };
}
