import type { ExpectedError } from '../../../core/errors';
import type { Plan } from '../../../core/planner/plan';
import type { ComparisonAnswer } from '../protocol';
import type { PlannerClient } from '../../../host/planner/client';

/**
 * What a config is compared with: another config, the best layout of a search, or the file of a measured run, by URI; a plan that it had
 * before; or what a rehearsal measured, compared with its prediction.
 */
export type Compared =
  | { readonly kind: 'config'; readonly file: string }
  | { readonly kind: 'best' }
  | { readonly kind: 'measured'; readonly file: string }
  | { readonly kind: 'earlier'; readonly name: string; readonly plan: Plan }
  | { readonly kind: 'rehearsed'; readonly name: string; readonly answer: (id: string) => ComparisonAnswer };

/** A comparison of one config. Replaced whole on every change. */
export interface ComparisonState {
  readonly other: Compared;
  readonly running: { readonly fraction: number | null } | null;
  readonly answer: ComparisonAnswer | null;
  /** Edits of either config since `answer`. */
  readonly staleEdits: number;
  readonly error: ExpectedError | null;
}

/** A plan that a search found. */
interface BestPlan {
  readonly plan: Plan;
  /** Whether the config names a whole layout of its own. */
  readonly isLaunched: boolean;
  /** Id of its answer: a new one for every search. */
  readonly answer: string;
}

/** What comparisons need of the extension. */
export interface ComparisonHost {
  /** Runs on its own thread: reading a measured run takes seconds. */
  readonly compare: PlannerClient['compare'];
  /** The best layout of a config, searched for first where there is no current answer. @throws ExpectedError, CancelledError. */
  readonly best: (file: string, signal: AbortSignal) => Promise<BestPlan>;
  /** Id of the answer that `best` would return without a search, and the edits since; null where there is none. */
  readonly bestAnswer: (file: string) => { readonly answer: string; readonly staleEdits: number } | null;
  readonly onDidChangeBest: (listener: (file: string) => void) => { dispose: () => void };
  /** Where a file lies on this machine. @throws ExpectedError `measured-not-local`. */
  readonly localPath: (file: string) => string;
  readonly displayPath: (file: string) => string;
  readonly reportBug: (error: unknown) => void;
}
