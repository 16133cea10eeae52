import type { TabParts } from '../../protocol/page';
import type { Comparisons } from '../../features/compare/vscode/comparisons';
import type { LayoutSearches } from '../sessions/layout-searches';
import type { PlanSessions } from '../sessions/plan-sessions';
import type { SessionState } from '../sessions/session-state';
import type { Profiles } from '../sessions/profiles';
import { displayPath } from '../sessions/sources';
import { pageComparisonOf } from '../../features/compare/vscode/page';
import { pageLayoutOf } from './layout-page';
import { noPrefill, type PrefillState } from '../../features/prefill/protocol';
import type { PrefillSession, Prefills } from '../../features/prefill/vscode/prefills';
import { figuresOf, type WhatIfState } from '../../protocol/what-if';
import type { PageEdits } from '../commands/page-edits';
import { mostPinned, type PlanHistories } from '../sessions/plan-histories';
import type { WhatIf, WhatIfs } from '../sessions/what-ifs';
import { chosenOf } from '../../core/planner/plan';
import { cutOf, traitsFor } from '../../core/partition/scheduling';
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

type Listen = (listener: (file: string) => void) => { readonly dispose: () => void };

/** The host's side of what tabs show in addition to the plan. Each part has one line in `of` and one in `changes`. */
export function tabParts({ sessions, profiles, layouts, comparisons, whatIfs, histories, edits, prefills }: PartSources): {
  /** What they show for a config. @param sent id of the comparison that the page has. */
  readonly of: (session: SessionState, sent: string | null) => TabParts;
  /** Events with the config whose part changed. */
  readonly changes: Readonly<Record<keyof TabParts, Listen>>;
} {
  const textsOf = (file: string): ReadonlyMap<string, string> => sessions.get(file)?.texts ?? new Map<string, string>();
  return {
    of: (session, sent) => ({
      profile: profiles.stateOf(session.file),
      layout: pageLayoutOf(session, layouts.stateOf(session.file)),
      comparison: pageComparisonOf(session.file, comparisons.stateOf(session.file), { displayPath, textsOf, sent }),
      prefill: pagePrefillOf(session, prefills.stateOf(session.file)),
      whatIf: pageWhatIfOf(session, whatIfs.stateOf(session.file)),
      history: session.plan === null ? null : { plans: histories.plansOf(session.file), mostPinned, canUndo: edits.canUndo(session.file) },
    }),
    changes: {
      profile: profiles.onDidChange,
      layout: layouts.onDidChange,
      comparison: comparisons.onDidChange,
      prefill: prefills.onDidChange,
      whatIf: whatIfs.onDidChange,
      history: histories.onDidChange,
    },
  };
}

function pagePrefillOf({ format, launcher, run, texts }: SessionState, known: PrefillSession | null): PrefillState | null {
  if (known === null) return format === 'huggingface' && launcher === null && run !== null ? noPrefill : null;
  const { answer, isRunning, error } = known;
  return {
    answer,
    isRunning,
    isStale: answer !== null && known.run !== run,
    error: error === null ? null : pageErrorOf(error, error.place ?? null, texts, displayPath),
  };
}

function pageWhatIfOf({ plan: current, texts, launcher }: SessionState, tried: WhatIf | null): WhatIfState | null {
  if (current === null) return null;
  const { schedule } = current.request;
  const { sets, plan, error } = tried ?? { sets: [], plan: null, error: null };
  return {
    cut: cutOf(current.request, chosenOf(current).schedule),
    leavesOpen: launcher === null,
    chunks: schedule === null ? 'several' : traitsFor(schedule, { virtualStages: 2 }).chunksPerStage,
    sets,
    tried: plan === null ? null : figuresOf(plan),
    error: error === null ? null : pageErrorOf(error, error.place ?? null, texts, displayPath),
  };
}
