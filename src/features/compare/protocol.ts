import type { TimesComparison } from './core/against-times';
import type { TraceComparison } from './core/against-trace';
import type { PlanComparison } from './core/plans';
import type { Timeline } from '../../core/schedules/schedule';
import type { PageError } from '../../protocol/page-error';
import type { Sentence, Value } from '../../core/sentence';

/*
 * The comparison's part of the protocol: a config's plan compared with another one or a measured run. An answer holds timelines, so it
 * travels once: afterwards its id stands for it.
 */

declare module '../../protocol/page' {
  interface TabParts {
    /** The plan compared with another one or with a measured run; null while nothing is compared. */
    readonly comparison?: PageComparison | null;
  }
}

/**
 * What a side is: a config's plan now or an earlier one, the layout that a config launches (or is planned with, where it names none), the
 * best layout that a search found, or a measured run.
 */
export type ComparedRole = 'config' | 'earlier' | 'launched' | 'planned' | 'best' | 'measured';

/** One side of a comparison, as it is shown. */
export interface ComparedSide {
  readonly role: ComparedRole;
  /** Display path of the config or of the measured run's file; of an earlier plan what it is called. */
  readonly file: string;
  /** What runs: `TeraPipe`, `1F1B`; empty for measured times, which leave it open. */
  readonly how: Value;
  /** Of the whole step of a plan; of the pipeline part of a trace and its counterpart. Null where nobody measured it. */
  readonly lengthMs: number | null;
  readonly bubbleRate: number | null;
  /** Null where there is none, or it has too many operations. */
  readonly timeline: Timeline | null;
}

/** What was found, without the measured timeline, which is that of side B. */
export type ReportedComparison = PlanComparison | Omit<TraceComparison, 'placed'> | TimesComparison;

/** Two sides compared. A is the predicted one when B is a measured run. */
export interface ComparisonAnswer {
  /** Another one for every answer. */
  readonly id: string;
  readonly reported: ReportedComparison;
  /** What matters most first. */
  readonly sentences: readonly Sentence[];
  readonly a: ComparedSide;
  readonly b: ComparedSide;
}

/** An answer that the page got before. */
export interface SentAnswer {
  readonly id: string;
  readonly sent: true;
}

/** What the page shows of a comparison. */
export interface PageComparison {
  /** What the config is compared with, and its display path; of the best layout that of the config. */
  readonly other: { readonly role: 'config' | 'earlier' | 'best' | 'measured'; readonly file: string };
  /** Comparing now; `fraction` 0..1 while a measured run is read, else null. The old answer stays. */
  readonly running: { readonly fraction: number | null } | null;
  readonly answer: ComparisonAnswer | SentAnswer | null;
  /** Edits of either config since `answer` was made. */
  readonly staleEdits: number;
  readonly error: PageError | null;
}

/** The same with its answer in full where the page has it already: what arrives names it by its id. */
export function withKnownAnswer(next: PageComparison | null, before: PageComparison | null | undefined): PageComparison | null {
  const named = next?.answer ?? null;
  if (next === null || named === null || !('sent' in named)) return next;
  const known = before?.answer ?? null;
  return { ...next, answer: known?.id === named.id ? known : null };
}

/** The answer in full; null where there is none. */
export function fullAnswer(comparison: PageComparison | null | undefined): ComparisonAnswer | null {
  const answer = comparison?.answer ?? null;
  return answer === null || 'sent' in answer ? null : answer;
}
