import { CancelledError, ExpectedError, throwIfCancelled } from '../../../core/errors';
import type { Basis } from './compare-pass';
import type { Compared, ComparisonHost, ComparisonState } from './comparison-host';
import type { PlanSessions } from '../../../host/sessions/plan-sessions';
import type { SessionState } from '../../../host/sessions/session-state';
import { sentence } from '../../../core/sentence';
import { maximum } from '../../../core/numbers';

/** The comparison of one config. */
export interface ConfigComparison {
  readonly state: () => ComparisonState;
  /** Drops a running comparison and starts a new one. Resolves when it has ended; errors are in the state. */
  readonly run: () => Promise<void>;
  /** Swaps two plans. */
  readonly swap: () => Promise<void>;
  /** Compares again when either side has a new plan and both are settled; else updates the age of the answer. */
  readonly follow: () => void;
  readonly abort: () => void;
}

interface ComparisonContext {
  readonly sessions: PlanSessions;
  readonly host: ComparisonHost;
  /** A unique id for an answer. */
  readonly newId: () => string;
  /** Whether this is still the comparison of its config. */
  readonly isOpen: () => boolean;
  readonly changed: () => void;
}

const nothing: Basis = { own: null, other: null };

export function openComparison(
  { sessions, host, newId, isOpen, changed }: ComparisonContext,
  file: string,
  other: Compared,
): ConfigComparison {
  let state: ComparisonState = { other, running: null, answer: null, staleEdits: 0, error: null };
  let isSwapped = false;
  /** What the last comparison, failed ones included, was of. */
  let basis = nothing;
  let job: AbortController | null = null;

  const update = (change: Partial<ComparisonState>): void => {
    if (!isOpen()) return;
    state = { ...state, ...change };
    changed();
  };
  const run = async (): Promise<void> => {
    job?.abort();
    const own = new AbortController();
    job = own;
    basis = nothing;
    update({ running: { fraction: null }, error: null });
    try {
      // Loaded when something is first compared.
      const { compareNow } = await import('./compare-pass');
      throwIfCancelled(own.signal);
      const answer = await compareNow({
        sessions,
        host,
        file,
        other,
        isSwapped,
        id: newId(),
        signal: own.signal,
        onProgress: (fraction) => update({ running: { fraction } }),
        onBasis: (compared) => {
          if (job === own) basis = compared;
        },
      });
      if (job === own) update({ answer, running: null, staleEdits: 0 });
    } catch (error) {
      const shown = shownError(error, host);
      if (job === own) {
        // It failed with these plans: only a change is a reason to try again.
        basis = { own: sessions.get(file)?.plan ?? null, other: otherNow() };
        update({ running: null, error: shown });
      }
    } finally {
      if (job === own) {
        job = null;
        follow();
      }
    }
  };
  const follow = (): void => {
    if (!isOpen() || job !== null) return;
    const states = comparedStates(sessions, host, file, other);
    if (states === null) return;
    const { own, others, best } = states;
    const settled = [own, ...others];
    const isSettled = settled.every(({ progress, staleEdits, error }) => progress === null && staleEdits === 0 && error === null);
    const isFound = other.kind !== 'best' || best?.staleEdits === 0;
    if (isSettled && isFound && (own.plan !== basis.own || otherNow() !== basis.other)) {
      void run();
      return;
    }
    const staleEdits = Math.max(best?.staleEdits ?? 0, maximum(settled.map((each) => each.staleEdits)));
    const broken = settled.find(({ progress, error }) => progress === null && error !== null)?.error ?? state.error;
    if (staleEdits !== state.staleEdits || broken !== state.error) update({ staleEdits, error: broken });
  };
  /** The other side as it is now: its plan, or the id of the search. */
  const otherNow = (): Basis['other'] => {
    if (other.kind === 'config') return sessions.get(other.file)?.plan ?? null;
    return other.kind === 'best' ? (host.bestAnswer(file)?.answer ?? null) : null;
  };
  return {
    state: () => state,
    run,
    swap: () => {
      isSwapped = !isSwapped;
      return run();
    },
    follow,
    abort: () => job?.abort(),
  };
}

interface ComparedStates {
  readonly own: SessionState;
  readonly others: readonly SessionState[];
  readonly best: ReturnType<ComparisonHost['bestAnswer']>;
}

/** The sessions that a comparison looks at; null when one of them is gone. */
function comparedStates(sessions: PlanSessions, host: ComparisonHost, file: string, other: Compared): ComparedStates | null {
  const own = sessions.get(file);
  if (own === undefined) return null;
  if (other.kind !== 'config') return { own, others: [], best: other.kind === 'best' ? host.bestAnswer(file) : null };
  const side = sessions.get(other.file);
  return side === undefined ? null : { own, others: [side], best: null };
}

function shownError(error: unknown, host: ComparisonHost): ExpectedError | null {
  if (error instanceof CancelledError) return null;
  if (error instanceof ExpectedError) return error;
  host.reportBug(error);
  return new ExpectedError('internal', sentence`TeraPipe failed to compare`, sentence`the log has the details; please report them`);
}
