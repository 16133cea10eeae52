import { chosenCandidate, type Plan } from '../../core/planner/plan';
import { changesBetween, planFigures, type PastPlan } from '../../protocol/what-if';
import type { PlanSessions } from './plan-sessions';
import type { SessionState } from './session-state';

/** What the plans of configs were, since each was opened. */
export interface PlanHistories {
  /** Newest first; the first is the current plan. */
  readonly plans: (file: string) => readonly PastPlan[];
  /** The plan itself, only its chosen candidate; null once it was dropped. */
  readonly planAt: (file: string, id: number) => Plan | null;
  /** Keeps a plan, however many come after it; not one more than `mostPinned`. */
  readonly pin: (file: string, id: number, isPinned: boolean) => void;
  /** The files of a config were saved as they are. */
  readonly saved: (file: string) => void;
  readonly onDidChange: (listener: (file: string) => void) => { dispose: () => void };
  readonly dispose: () => void;
}

/** Plans that are kept of a config, in addition to pinned ones. */
const mostKept = 20;
/** Pinned plans of a config. */
export const mostPinned = 6;
/** Timelines of this many operations are kept, so that memory stays flat. */
const mostOperations = 20_000;

interface Entry extends PastPlan {
  readonly plan: Plan;
}

/** @param isDirty whether a file has unsaved edits. */
export function createPlanHistories(sessions: PlanSessions, isDirty: (file: string) => boolean): PlanHistories {
  const histories = new Map<string, readonly Entry[]>();
  /** The plan that the newest entry was made of. */
  const seen = new Map<string, Plan>();
  const listeners = new Set<(file: string) => void>();
  let lastId = 0;
  const put = (file: string, entries: readonly Entry[]): void => {
    histories.set(file, entries);
    for (const listener of listeners) listener(file);
  };
  const isClean = (file: string): boolean => [...sessions.reads(file)].every((read) => !isDirty(read));
  const markSaved = (file: string): void => {
    const entries = histories.get(file) ?? [];
    if (entries[0]?.isSaved === false) put(file, kept(entries.map((entry, index) => ({ ...entry, isSaved: index === 0 }))));
  };
  const note = (state: SessionState): void => {
    const { file, plan, progress, error } = state;
    if (plan === null || progress !== null || error !== null || seen.get(file) === plan) return;
    seen.set(file, plan);
    const entries = histories.get(file) ?? [];
    const [before] = entries;
    const changes = before === undefined ? [] : changesBetween(before.plan, plan);
    if (before === undefined || changes.length > 0 || chosenCandidate(before.plan).iterationMs !== chosenCandidate(plan).iterationMs)
      put(
        file,
        kept([
          { id: ++lastId, figures: planFigures(plan), changes, isSaved: false, isPinned: false, plan: withoutOthers(plan) },
          ...entries,
        ]),
      );
    if (isClean(file)) markSaved(file);
  };
  const subscription = sessions.onDidChange((state) => {
    note(state);
    for (const file of histories.keys()) {
      if (sessions.get(file) !== undefined) continue;
      histories.delete(file);
      seen.delete(file);
    }
  });
  return {
    plans: (file) =>
      (histories.get(file) ?? []).map(({ id, figures, changes, isSaved, isPinned }) => ({ id, figures, changes, isSaved, isPinned })),
    planAt: (file, id) => histories.get(file)?.find((entry) => entry.id === id)?.plan ?? null,
    pin: (file, id, isPinned) => {
      const entries = histories.get(file) ?? [];
      if (isPinned && entries.filter((entry) => entry.isPinned).length >= mostPinned) return;
      put(file, kept(entries.map((entry) => (entry.id === id ? { ...entry, isPinned } : entry))));
    },
    saved: (file) => {
      for (const { file: config, staleEdits, progress } of sessions.all())
        if (sessions.reads(config).has(file) && staleEdits === 0 && progress === null && isClean(config)) markSaved(config);
    },
    onDidChange: (listener) => {
      listeners.add(listener);
      return { dispose: () => listeners.delete(listener) };
    },
    dispose: () => {
      subscription.dispose();
      histories.clear();
      listeners.clear();
    },
  };
}

function kept(entries: readonly Entry[]): readonly Entry[] {
  return entries.filter(({ isPinned, isSaved }, index) => index < mostKept || isPinned || isSaved);
}

function withoutOthers(plan: Plan): Plan {
  const chosen = chosenCandidate(plan);
  const timeline = (chosen.timeline?.kind.length ?? 0) > mostOperations ? null : chosen.timeline;
  return { ...plan, candidates: [{ ...chosen, timeline }] };
}
