import { alongMicroBatch } from './dependencies';
import { hitNear, operationAt, rowsOf, type Operation, type Operations } from './operations';
import type { KeyAction } from './keys';

type Step = Extract<KeyAction, { readonly do: 'step' }>;

/** The operation that a step leads to, or null at an end. */
export function stepFrom(operations: Operations, from: Operation, { along, by }: Step): Operation | null {
  switch (along) {
    case 'stage': {
      const { first, end } = rowsOf(operations, from.stage);
      const row = from.row + by;
      return row >= first && row < end ? operationAt(operations, row) : null;
    }
    case 'stages': {
      const stage = from.stage + by;
      return stage >= 0 && stage < operations.stages ? hitNear(operations, stage, (from.startMs + from.endMs) / 2, Infinity) : null;
    }
    case 'microBatch':
      return alongMicroBatch(operations, from, by);
  }
}

/** The first or last operation of a stage, or null when it has none. */
export function edgeOf(operations: Operations, stage: number, end: 'first' | 'last'): Operation | null {
  const rows = rowsOf(operations, stage);
  if (rows.end <= rows.first) return null;
  return operationAt(operations, end === 'first' ? rows.first : rows.end - 1);
}
