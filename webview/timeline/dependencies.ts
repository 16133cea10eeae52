import { operationKind, type OperationKind } from '../../src/core/schedule/schedule';
import { operationAt, rowsOf, type Operation, type Operations } from './operations';

/** Why an operation did not start earlier. */
export interface Wait {
  /** Idle ms of the stage right before the operation. */
  readonly idleMs: number;
  /** The last thing it waited for; null when it started at 0. */
  readonly on: Operation | null;
  /** Whether that ran on the same stage. */
  readonly sameStage: boolean;
}

/** What an operation has to wait for: the one before it on its stage, and the one that hands it its data. */
export function predecessors(operations: Operations, operation: Operation): Operation[] {
  const { first } = rowsOf(operations, operation.stage);
  const rows = [operation.row > first ? operation.row - 1 : -1, source(operations, operation)];
  return rows.filter((row) => row >= 0).map((row) => operationAt(operations, row));
}

function source({ rowOf, stages }: Operations, { stage, kind, unitIndex }: Operation): number {
  if (kind === operationKind.forward) return rowOf(stage - 1, operationKind.forward, unitIndex);
  return stage === stages - 1 ? rowOf(stage, operationKind.forward, unitIndex) : rowOf(stage + 1, operationKind.backward, unitIndex);
}

/** What an operation waited for, and how long its stage idled meanwhile. */
export function waitOf(operations: Operations, operation: Operation): Wait {
  const [on] = predecessors(operations, operation).sort((a, b) => b.endMs - a.endMs);
  const { first } = rowsOf(operations, operation.stage);
  const previousEndMs = operation.row > first ? operationAt(operations, operation.row - 1).endMs : 0;
  return { idleMs: Math.max(0, operation.startMs - previousEndMs), on: on ?? null, sameStage: on?.stage === operation.stage };
}

/** Rows of one chain of operations, each waiting for the one before it, that ends with the last operation of the step. */
export function criticalPath(operations: Operations): Int32Array {
  let last = -1;
  for (let stage = 0; stage < operations.stages; stage++) {
    const row = rowsOf(operations, stage).end - 1;
    if (row < 0 || row < rowsOf(operations, stage).first) continue;
    if (last < 0 || operationAt(operations, row).endMs > operationAt(operations, last).endMs) last = row;
  }
  const path: number[] = [];
  for (let row = last; row >= 0 && path.length <= operations.count;) {
    path.push(row);
    const [before] = predecessors(operations, operationAt(operations, row)).sort((a, b) => b.endMs - a.endMs);
    row = before === undefined ? -1 : before.row;
  }
  return Int32Array.from(path.reverse());
}

/** The way of a micro-batch through the pipeline: forward down the stages, backward up, slice after slice. Steps one on (1) or back (-1). */
export function alongMicroBatch(operations: Operations, { stage, kind, unitIndex, unit }: Operation, step: 1 | -1): Operation | null {
  const { stages, timeline, rowOf } = operations;
  const down = kind === operationKind.forward ? 1 : -1;
  const find = (wantedStage: number, wantedKind: OperationKind, wantedUnit: number): Operation | null => {
    const row = rowOf(wantedStage, wantedKind, wantedUnit);
    return row < 0 ? null : operationAt(operations, row);
  };
  const nextStage = stage + down * step;
  if (nextStage >= 0 && nextStage < stages) return find(nextStage, kind, unitIndex);
  const turns = (kind === operationKind.forward) === (step === 1);
  if (turns && nextStage === stages) {
    return find(stages - 1, kind === operationKind.forward ? operationKind.backward : operationKind.forward, unitIndex);
  }
  const neighbour = unitIndex + step;
  if (timeline.units[neighbour]?.microBatch !== unit.microBatch) return null;
  return find(0, step === 1 ? operationKind.forward : operationKind.backward, neighbour);
}
