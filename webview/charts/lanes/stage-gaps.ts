import { idleGaps, type Gap } from '../../../src/core/schedules/simulate/gaps';
import type { Operations } from '../../base/operations';

const knownGaps = new WeakMap<Operations, Map<number, readonly Gap[]>>();

/** The idle times of a stage, ascending; looked for once. */
export function stageGaps(operations: Operations, stage: number): readonly Gap[] {
  const known = knownGaps.get(operations) ?? new Map<number, readonly Gap[]>();
  knownGaps.set(operations, known);
  const gaps = known.get(stage) ?? idleGaps(operations.timeline, stage, operations.parts);
  known.set(stage, gaps);
  return gaps;
}
