import type { TabParts } from '../../protocol/page';
import { planFigures, type HistoryState, type WhatIfState } from '../../protocol/what-if';
import { scheduledStageLayers } from '../../core/partition/chunks';
import { chosenCandidate } from '../../core/planner/plan';
import { scheduleOn } from '../../core/schedules/on-layout';
import { toPageError } from './page-state';
import { mostPinned, type PlanHistories } from '../sessions/plan-histories';
import type { SessionState } from '../sessions/session-state';
import type { WhatIf } from '../sessions/what-ifs';

/** What a tab shows of a config, and the event with the config whose part changed. @param sent id of the comparison that the page has */
interface Source<T> {
  readonly of: (session: SessionState, sent: string | null) => T;
  readonly changed: (listener: (file: string) => void) => { readonly dispose: () => void };
}

/** The host's side of what tabs show in addition to the plan. */
export type TabPartSources = { readonly [Name in keyof TabParts]-?: Source<Required<TabParts>[Name]> };

/** What all tabs show of a config. */
export function allTabParts(sources: TabPartSources, session: SessionState, sent: string | null): TabParts {
  return Object.fromEntries(Object.entries(sources).map(([name, { of }]) => [name, of(session, sent)]));
}

/** Sizes that the page tries; null without a plan. */
export function toPageWhatIf(
  { plan: current, texts, launcher, edits }: SessionState,
  tried: WhatIf | null,
  displayPath: (file: string) => string,
): WhatIfState | null {
  if (current === null) return null;
  const { schedule } = current.request;
  const { sets, plan, error } = tried ?? { sets: [], plan: null, error: null };
  return {
    edits,
    cut: scheduledStageLayers(current.request, chosenCandidate(current).schedule),
    leavesOpen: launcher === null,
    chunks: schedule === null ? 'several' : scheduleOn(schedule, { virtualStages: 2 }).chunksPerStage,
    sets,
    tried: plan === null ? null : planFigures(plan),
    error: error === null ? null : toPageError(error, error.place ?? null, texts, displayPath),
  };
}

/** The plans that a config had; null without a plan. */
export function toPageHistory({ file, plan }: SessionState, histories: PlanHistories, canUndo: boolean): HistoryState | null {
  return plan === null ? null : { plans: histories.plans(file), mostPinned, canUndo };
}
