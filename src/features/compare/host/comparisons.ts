import { openComparison, type ConfigComparison } from './comparison';
import type { Compared, ComparisonHost, ComparisonState } from './comparison-host';
import type { PlanSessions } from '../../../host/sessions/plan-sessions';

/** Comparisons, one a config, that follow edits of both sides. */
export interface Comparisons {
  readonly state: (file: string) => ComparisonState | null;
  /** Compares a config, replacing an earlier comparison. Resolves when it has ended; errors are in the state. */
  readonly start: (file: string, other: Compared) => Promise<void>;
  /** Compares again: reads a measured run again, and searches again where the best layout is outdated. */
  readonly again: (file: string) => Promise<void>;
  /** Swaps two plans. */
  readonly swap: (file: string) => Promise<void>;
  /** Cancels a running comparison; closes it where it has no answer. */
  readonly cancel: (file: string) => void;
  readonly close: (file: string) => void;
  /** Whether a config is the other side of a comparison, so that its session has to stay. */
  readonly needs: (file: string) => boolean;
  readonly onDidChange: (listener: (file: string) => void) => { dispose: () => void };
  readonly dispose: () => void;
}

/** Keeps the comparisons of all sessions. An edit that breaks a config keeps the last answer, marked as outdated. */
export function createComparisons(sessions: PlanSessions, host: ComparisonHost): Comparisons {
  const comparisons = new Map<string, ConfigComparison>();
  const listeners = new Set<(file: string) => void>();
  let lastId = 0;

  const notify = (file: string): void => {
    for (const listener of listeners) listener(file);
  };
  const open = (file: string, other: Compared): ConfigComparison => {
    const comparison = openComparison(
      {
        sessions,
        host,
        newId: () => `${file}#${++lastId}`,
        isOpen: () => comparisons.get(file) === comparison,
        changed: () => notify(file),
      },
      file,
      other,
    );
    comparisons.get(file)?.abort();
    comparisons.set(file, comparison);
    return comparison;
  };
  const close = (file: string): void => {
    const comparison = comparisons.get(file);
    if (comparison === undefined) return;
    comparison.abort();
    comparisons.delete(file);
    notify(file);
  };
  const isComparedWith = ({ state }: ConfigComparison, file: string): boolean => {
    const { other } = state();
    return other.kind === 'config' && other.file === file;
  };

  const subscription = sessions.onDidChange(({ file: changed }) => {
    for (const [file, comparison] of comparisons) {
      if (sessions.get(file) === undefined) close(file);
      else if (changed === file || isComparedWith(comparison, changed)) comparison.follow();
    }
  });
  const bestSubscription = host.onDidChangeBest((file) => {
    const comparison = comparisons.get(file);
    if (comparison?.state().other.kind === 'best') comparison.follow();
  });

  return {
    state: (file) => comparisons.get(file)?.state() ?? null,
    start: (file, other) => open(file, other).run(),
    again: async (file) => comparisons.get(file)?.run(),
    swap: async (file) => {
      const comparison = comparisons.get(file);
      const kind = comparison?.state().other.kind;
      if (kind !== 'measured' && kind !== 'rehearsed') await comparison?.swap();
    },
    cancel: (file) => {
      const comparison = comparisons.get(file);
      if (comparison?.state().answer === null) close(file);
      else comparison?.abort();
    },
    close,
    needs: (file) => [...comparisons].some(([own, comparison]) => own === file || isComparedWith(comparison, file)),
    onDidChange: (listener) => {
      listeners.add(listener);
      return { dispose: () => listeners.delete(listener) };
    },
    dispose: () => {
      subscription.dispose();
      bestSubscription.dispose();
      for (const comparison of comparisons.values()) comparison.abort();
      comparisons.clear();
      listeners.clear();
    },
  };
}
