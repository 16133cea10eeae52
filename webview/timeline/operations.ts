import { operationKind, type OperationKind, type Timeline, type WorkUnit } from '../../src/core/schedule/schedule';

/** A timeline with what drawing and asking needs beside it; built once per timeline, O(operations). */
export interface Operations {
  readonly timeline: Timeline;
  readonly stages: number;
  readonly count: number;
  /** Busy ms of all rows before this one, forward and backward apart; length `count + 1`. Differences within a stage are sums. */
  readonly forwardBeforeMs: Float64Array;
  readonly backwardBeforeMs: Float64Array;
  /** Row of (stage, kind, unit) or -1. */
  readonly rowOf: (stage: number, kind: OperationKind, unit: number) => number;
}

/** One operation, spelled out. */
export interface Operation {
  readonly row: number;
  readonly stage: number;
  readonly kind: OperationKind;
  readonly unitIndex: number;
  readonly unit: WorkUnit;
  readonly startMs: number;
  readonly endMs: number;
}

/** @throws RangeError when the columns contradict each other. */
export function indexOperations(timeline: Timeline): Operations {
  const { stages, units, rowStart, kind, unit, startMs, endMs } = timeline;
  const count = rowStart[stages] ?? 0;
  if (startMs.length < count || endMs.length < count || kind.length < count || unit.length < count)
    throw new RangeError('timeline columns are shorter than its rows');
  const forwardBeforeMs = new Float64Array(count + 1);
  const backwardBeforeMs = new Float64Array(count + 1);
  const rows = new Int32Array(stages * units.length * 2).fill(-1);
  for (let stage = 0; stage < stages; stage++) {
    for (let row = at(rowStart, stage); row < at(rowStart, stage + 1); row++) {
      const busyMs = at(endMs, row) - at(startMs, row);
      const isForward = at(kind, row) === operationKind.forward;
      forwardBeforeMs[row + 1] = at(forwardBeforeMs, row) + (isForward ? busyMs : 0);
      backwardBeforeMs[row + 1] = at(backwardBeforeMs, row) + (isForward ? 0 : busyMs);
      rows[(stage * units.length + at(unit, row)) * 2 + at(kind, row)] = row;
    }
  }
  const rowOf = (stage: number, wanted: OperationKind, unitIndex: number): number =>
    stage < 0 || stage >= stages ? -1 : (rows[(stage * units.length + unitIndex) * 2 + wanted] ?? -1);
  return { timeline, stages, count, forwardBeforeMs, backwardBeforeMs, rowOf };
}

/** @throws RangeError when there is no such row. */
export function operationAt(operations: Operations, row: number): Operation {
  const { timeline } = operations;
  const unitIndex = at(timeline.unit, row);
  const unit = timeline.units[unitIndex];
  if (unit === undefined || row < 0 || row >= operations.count) throw new RangeError(`no operation ${row}`);
  return {
    row,
    stage: stageOf(operations, row),
    kind: at(timeline.kind, row) === operationKind.forward ? operationKind.forward : operationKind.backward,
    unitIndex,
    unit,
    startMs: at(timeline.startMs, row),
    endMs: at(timeline.endMs, row),
  };
}

/** Stage that owns a row. */
export function stageOf({ timeline, stages }: Operations, row: number): number {
  let low = 0;
  let high = stages;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (at(timeline.rowStart, middle) <= row) low = middle;
    else high = middle;
  }
  return low;
}

/** Rows of a stage: first and one past the last. */
export function rowsOf({ timeline }: Operations, stage: number): { readonly first: number; readonly end: number } {
  return { first: at(timeline.rowStart, stage), end: at(timeline.rowStart, stage + 1) };
}

/** First row of [first, end) that ends after `ms`, else `end`. */
export function firstEndingAfter({ timeline }: Operations, first: number, end: number, ms: number): number {
  return firstAbove(timeline.endMs, first, end, ms);
}

/** First row of [first, end) that starts after `ms`, else `end`. */
export function firstStartingAfter({ timeline }: Operations, first: number, end: number, ms: number): number {
  return firstAbove(timeline.startMs, first, end, ms);
}

function firstAbove(column: Float64Array, first: number, end: number, ms: number): number {
  let low = first;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (at(column, middle) > ms) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The operation that runs on a stage at a time, or null when the stage idles. */
export function hit(operations: Operations, stage: number, ms: number): Operation | null {
  const { first, end } = rowsOf(operations, stage);
  const row = firstEndingAfter(operations, first, end, ms);
  return row < end && at(operations.timeline.startMs, row) <= ms ? operationAt(operations, row) : null;
}

/** As `hit`, else the nearest operation of the stage within `slackMs`. */
export function hitNear(operations: Operations, stage: number, ms: number, slackMs: number): Operation | null {
  const exact = hit(operations, stage, ms);
  if (exact !== null) return exact;
  const { first, end } = rowsOf(operations, stage);
  const after = firstEndingAfter(operations, first, end, ms);
  const near = [after - 1, after]
    .filter((row) => row >= first && row < end)
    .map((row) => operationAt(operations, row))
    .map((operation) => ({ operation, distance: Math.max(operation.startMs - ms, ms - operation.endMs) }))
    .sort((a, b) => a.distance - b.distance)[0];
  return near !== undefined && near.distance <= slackMs ? near.operation : null;
}

/** Sums over a range of time and stages, clipped to it. */
export interface RangeSums {
  readonly operations: number;
  readonly forwardMs: number;
  readonly backwardMs: number;
  readonly idleMs: number;
  /** Idle share of the range, 0..1. */
  readonly idleShare: number;
}

/** Sums what stages `firstStage` to `lastStage` (both included) do between two times. O(stages log operations). */
export function sumRange(operations: Operations, startMs: number, endMs: number, firstStage: number, lastStage: number): RangeSums {
  const { timeline, forwardBeforeMs, backwardBeforeMs } = operations;
  let [count, forwardMs, backwardMs] = [0, 0, 0];
  for (let stage = firstStage; stage <= lastStage; stage++) {
    const { first, end } = rowsOf(operations, stage);
    const from = firstEndingAfter(operations, first, end, startMs);
    const until = Math.max(from, firstStartingAfter(operations, from, end, endMs));
    count += until - from;
    forwardMs += at(forwardBeforeMs, until) - at(forwardBeforeMs, from);
    backwardMs += at(backwardBeforeMs, until) - at(backwardBeforeMs, from);
    if (until === from) continue;
    for (const [row, outside] of [
      [from, Math.max(0, startMs - at(timeline.startMs, from))],
      [until - 1, Math.max(0, at(timeline.endMs, until - 1) - endMs)],
    ] as const) {
      if (at(timeline.kind, row) === operationKind.forward) forwardMs -= outside;
      else backwardMs -= outside;
    }
  }
  const availableMs = Math.max(0, endMs - startMs) * (lastStage - firstStage + 1);
  const idleMs = Math.max(0, availableMs - forwardMs - backwardMs);
  return { operations: count, forwardMs, backwardMs, idleMs, idleShare: availableMs > 0 ? idleMs / availableMs : 0 };
}

/** Idle share of every stage over the whole pipeline part, 0..1. */
export function idleShares(operations: Operations): Float64Array {
  const { makespanMs } = operations.timeline;
  return Float64Array.from({ length: operations.stages }, (_, stage) => {
    const { first, end } = rowsOf(operations, stage);
    const busyMs =
      at(operations.forwardBeforeMs, end) -
      at(operations.forwardBeforeMs, first) +
      at(operations.backwardBeforeMs, end) -
      at(operations.backwardBeforeMs, first);
    return makespanMs > 0 ? Math.max(0, 1 - busyMs / makespanMs) : 0;
  });
}

/** Element of a column; 0 past its end, which callers have ruled out. */
export function at(column: ArrayLike<number>, index: number): number {
  return column[index] ?? 0;
}
