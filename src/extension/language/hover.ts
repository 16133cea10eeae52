import type { TextRange } from '../../core/domain/located';

/** A hover as plain text: the face makes markdown of it. */
export interface HoverText {
  readonly range: TextRange;
  readonly title: string;
  readonly lines: readonly string[];
}
