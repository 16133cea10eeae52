import type { Place } from '../core/domain/located';
import type { Sentence } from '../core/sentence';

/** An expected error as a page shows it; `place` makes it clickable. */
export interface PageError {
  readonly code: string;
  readonly message: Sentence;
  readonly remedy: Sentence;
  readonly place: Place | null;
  /** `file:line:column` for the eye, when there is a place. */
  readonly placeText: string | null;
}
