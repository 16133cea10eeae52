import { timedCopies, type TimedCopy } from '../../../src/core/schedules/activation-copies';
import { at, type Operation, type Operations } from '../../base/operations';

const byStage = new WeakMap<NonNullable<Operations['timeline']['copyTimes']>, Map<number, readonly TimedCopy[]>>();

/** The copies of activations that a stage issues, in that order; listed once for each timeline. */
export function copiesOnStage({ timeline }: Operations, stage: number): readonly TimedCopy[] {
  const { copyTimes } = timeline;
  if (timeline.copies === undefined || copyTimes === undefined) return [];
  const known = byStage.get(copyTimes) ?? new Map<number, readonly TimedCopy[]>();
  byStage.set(copyTimes, known);
  const copies = known.get(stage) ?? timedCopies(timeline, stage);
  known.set(stage, copies);
  return copies;
}

/** The copy whose end an operation waited for while its stage idled; null where it waited for something else, or not. */
export function waitedForCopy(operations: Operations, { row, stage, startMs }: Operation): TimedCopy | null {
  const first = at(operations.timeline.rowStart, stage);
  const freeMs = row > first ? at(operations.timeline.endMs, row - 1) : 0;
  if (startMs <= freeMs) return null;
  return copiesOnStage(operations, stage).find((copy) => copy.before === row && copy.endMs >= startMs) ?? null;
}
