import type { PrefillAnswer } from './core/answer';
import type { PageError } from '../../protocol/page-error';

declare module '../../protocol/page' {
  interface TabParts {
    /** Null for training runs without a planned prompt: the page then has no Prefill tab. */
    readonly prefill?: PrefillState | null;
  }
}

/** The Prefill tab's part of a page. */
export interface PrefillState {
  /** Null before the first prompt was planned. */
  readonly answer: PrefillAnswer | null;
  readonly isRunning: boolean;
  /** The config has changed since. */
  readonly isStale: boolean;
  readonly error: PageError | null;
}

export const noPrefill: PrefillState = { answer: null, isRunning: false, isStale: false, error: null };
