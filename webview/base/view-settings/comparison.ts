import type { OperationKind } from '../../../src/core/schedules/schedule';
import type { Viewport } from '../viewport';

/** Which side of a comparison. */
export type SideId = 'a' | 'b';

/** The selected pass by chunk, kind and unit, so that it survives a new answer. */
export interface ComparedPass {
  readonly side: SideId;
  readonly chunk: number;
  readonly kind: OperationKind;
  readonly unit: number;
}

/** View settings of a comparison. */
export interface ComparisonViewSettings {
  /** Of both timelines; null: all of the longer one, fitted. */
  readonly viewport: Viewport | null;
  readonly pass: ComparedPass | null;
  /** Stage whose passes the table lists; null: the one that differs most. */
  readonly stage: number | null;
}

/** What a page starts with. */
export const initialComparisonSettings: ComparisonViewSettings = { viewport: null, pass: null, stage: null };
