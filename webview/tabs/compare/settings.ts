import type { OperationKind } from '../../../src/core/schedules/schedule';
import { isRecord } from '../../../src/core/records';
import { isIndex, readViewport, setting } from '../../base/view-state';
import type { Viewport } from '../../base/viewport';

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

const initial: ComparisonViewSettings = { viewport: null, pass: null, stage: null };

/** Where the person was; a selected pass may be of another answer. */
function readSettings(saved: unknown): ComparisonViewSettings {
  if (!isRecord(saved)) return initial;
  return { ...initial, viewport: readViewport(saved['viewport']), stage: isIndex(saved['stage']) ? saved['stage'] : null };
}

export const comparisonSettings = setting('comparisonSettings', readSettings, { formerKey: 'comparedLook', ofFile: true });
