import type { ExpectedError } from '../../core/errors';
import type { SearchUpdate } from '../../core/layout-search/answer';
import type { SearchResult } from '../../core/layout-search/result';
import type { Plan } from '../../core/planner/plan';
import type { PlannerClient } from '../planner/client';

/** What is known of the layouts of one config. Replaced whole on every change. */
export interface LayoutSearch {
  /** How far a search under way is; null before its first word, undefined when none is under way. */
  readonly running: SearchUpdate | null | undefined;
  /** The last good answer, with an id that no other answer has. */
  readonly answer: { readonly id: string; readonly result: SearchResult } | null;
  /** Edits since `answer` that changed what was asked, or may have. */
  readonly staleEdits: number;
  /** Why the last search stopped. */
  readonly error: ExpectedError | null;
  /** A plan of `answer` as a full plan, by its index in `listPlans`. */
  readonly opened: { readonly index: number; readonly plan: Plan } | null;
}

/** What searches need of the extension. */
export interface LayoutSearchHost {
  /** On a thread of its own: plans are never behind a search. */
  readonly search: PlannerClient['search'];
  readonly plan: PlannerClient['plan'];
  /** Whether layouts of a launcher's file are searched without being asked for. */
  readonly isAutomatic: (file: string) => boolean;
  readonly reportBug: (error: unknown) => void;
}
