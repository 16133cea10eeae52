import type { WorkUnit } from '../../../src/core/schedules/schedule';
import { operationAt, stageRows, type Operation, type Operations } from '../../base/operations';

const known = new WeakMap<Operations, ReadonlyMap<string, number>>();

function unitsByName(operations: Operations): ReadonlyMap<string, number> {
  const found = known.get(operations) ?? new Map(operations.timeline.units.map((unit, index) => [unitName(unit), index]));
  known.set(operations, found);
  return found;
}

/** Units are the same work when they are the same tokens of the same micro-batch. */
function unitName({ microBatch, slice, batch, tokens, context }: WorkUnit): string {
  return [microBatch, slice, batch, tokens, context].join();
}

/**
 * The same pass of the other timeline: that of the same chunk on the same tokens of the same micro-batch. Null where the other has none, or
 * cuts its layers into another number of chunks.
 */
export function findCounterpart({ chunk, kind, unit }: Operation, from: Operations, to: Operations): Operation | null {
  if (from.timeline.stageOfChunk.length !== to.timeline.stageOfChunk.length) return null;
  const index = unitsByName(to).get(unitName(unit));
  const row = index === undefined ? -1 : to.findRow(chunk, kind, index);
  return row < 0 ? null : operationAt(to, row);
}

/** A pass of a stage on both sides, or on one of them. */
export interface PassPair {
  readonly a: Operation | null;
  readonly b: Operation | null;
}

/**
 * What a stage runs on either side: the passes of A in their order, each with its counterpart on the same stage, then those that only B
 * has.
 */
export function passPairs(a: Operations | null, b: Operations | null, stage: number): PassPair[] {
  const of = (operations: Operations | null): Operation[] => {
    if (operations === null || stage >= operations.stages) return [];
    const { first, end } = stageRows(operations, stage);
    return Array.from({ length: end - first }, (_, index) => operationAt(operations, first + index));
  };
  const paired = new Set<number>();
  const left = of(a).map((pass): PassPair => {
    const other = a === null || b === null ? null : findCounterpart(pass, a, b);
    if (other?.stage !== stage) return { a: pass, b: null };
    paired.add(other.row);
    return { a: pass, b: other };
  });
  return [...left, ...of(b).flatMap((pass) => (paired.has(pass.row) ? [] : [{ a: null, b: pass }]))];
}
