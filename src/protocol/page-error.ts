import type { Place } from '../core/spec/located';

/** An expected error as a page shows it; `place` makes it clickable. */
export interface PageError {
  readonly code: string;
  readonly message: string;
  readonly remedy: string;
  readonly place: Place | null;
  /** `file:line:column` for the eye, when there is a place. */
  readonly placeText: string | null;
}
