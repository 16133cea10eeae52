import { criticalPath as pathOf, waitedFor } from '../../../src/core/schedules/simulate/critical-path';
import { findSourceRow } from '../../../src/core/schedules/parts';
import { operationKind, type OperationKind } from '../../../src/core/schedules/schedule';
import type { Page } from '../../base/pages';
import { operationAt, stageRows, type Operation, type Operations } from '../../base/operations';

/** Why an operation did not start earlier. */
interface Wait {
  /** Idle ms of the stage right before the operation. */
  readonly idleMs: number;
  /** The last thing it waited for; null when it started at 0. */
  readonly on: Operation | null;
  /** Whether that ran on the same stage. */
  readonly sameStage: boolean;
}

/** What an operation waited for, and how long its stage idled meanwhile. */
export function operationWait(operations: Operations, operation: Operation): Wait {
  const { row } = waitedFor(operations.timeline, operations.parts, operation.row);
  const on = row < 0 ? null : operationAt(operations, row);
  const { first } = stageRows(operations, operation.stage);
  const previousEndMs = operation.row > first ? (operations.timeline.endMs[operation.row - 1] ?? 0) : 0;
  return { idleMs: Math.max(0, operation.startMs - previousEndMs), on, sameStage: on?.stage === operation.stage };
}

/** Rows of one chain of operations, each waiting for the one before it, that ends with the last operation of the step. */
export function criticalPath({ timeline, parts }: Operations): Uint32Array {
  return pathOf(timeline, parts).rows;
}

/**
 * The path of a micro-batch through the pipeline: forward down the chunks, backward up, slice after slice. Steps one on (1) or back (-1).
 * The weight gradient depends on the input gradient.
 */
export function alongMicroBatch(operations: Operations, { chunk, kind, unitIndex, unit }: Operation, step: 1 | -1): Operation | null {
  const { timeline, findRow } = operations;
  const chunks = timeline.stageOfChunk.length;
  const find = (wantedChunk: number, wantedKind: OperationKind, wantedUnit: number): Operation | null => {
    const row = findRow(wantedChunk, wantedKind, wantedUnit);
    return row < 0 ? null : operationAt(operations, row);
  };
  const isForward = kind === operationKind.forward;
  if (kind === operationKind.backwardWeight && step === -1) return find(chunk, operationKind.backward, unitIndex);
  const nextChunk = chunk + (isForward ? step : -step);
  if (nextChunk >= 0 && nextChunk < chunks) return find(nextChunk, isForward ? kind : operationKind.backward, unitIndex);
  if (nextChunk === chunks) return find(chunks - 1, isForward ? operationKind.backward : operationKind.forward, unitIndex);
  const neighbour = unitIndex + step;
  if (timeline.units[neighbour]?.microBatch !== unit.microBatch) return null;
  return find(0, step === 1 ? operationKind.forward : operationKind.backward, neighbour);
}

/** What an operation waited for, and what waits for it. */
interface Flows {
  /** What hands it its input, and the last thing it waited for where that is another one; in no order. */
  readonly before: readonly Operation[];
  /** What takes its output, and the next on its stage where that started right after it. */
  readonly after: readonly Operation[];
}

const kinds = Object.values(operationKind);

/** The neighbours of an operation in the order of the step, among the operations that are drawn. */
export function operationFlows(operations: Operations, { row, chunk, unitIndex }: Operation): Flows {
  const { timeline, parts } = operations;
  const before = new Set([findSourceRow(timeline, parts, row), waitedFor(timeline, parts, row).row].filter((each) => each >= 0));
  const handed = [chunk - 1, chunk, chunk + 1]
    .flatMap((next) => kinds.map((kind) => rowAt(operations, next, kind, unitIndex)))
    .filter((next) => next >= 0 && next !== row && findSourceRow(timeline, parts, next) === row);
  const stageEnd = timeline.rowStart[(timeline.stageOfChunk[chunk] ?? 0) + 1] ?? 0;
  const next = row + 1 < stageEnd && waitedFor(timeline, parts, row + 1).row === row ? [row + 1] : [];
  const all = (rows: Iterable<number>): Operation[] => [...rows].map((each) => operationAt(operations, each));
  return { before: all(before), after: all(new Set([...handed, ...next])) };
}

function rowAt({ timeline, findRow }: Operations, chunk: number, kind: OperationKind, unit: number): number {
  return chunk < 0 || chunk >= timeline.stageOfChunk.length ? -1 : findRow(chunk, kind, unit);
}

/** One row of the table twin. */
export interface OperationRow {
  readonly operation: Operation;
  readonly idleBeforeMs: number;
}

/** Rows `page` of what a stage does, in time order. */
export function operationRows(operations: Operations, stage: number, page: Page): OperationRow[] {
  const { first, end } = stageRows(operations, stage);
  return Array.from({ length: Math.max(0, Math.min(end, first + page.end) - first - page.first) }, (_, index) => {
    const operation = operationAt(operations, first + page.first + index);
    return { operation, idleBeforeMs: operationWait(operations, operation).idleMs };
  });
}
