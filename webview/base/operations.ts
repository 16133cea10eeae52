import { indexParts, part, operationPart, findRow, type Part, type Parts } from '../../src/core/schedules/parts';
import type { OperationKind, Timeline, WorkUnit } from '../../src/core/schedules/schedule';

/** A timeline with the indices that drawing and queries need; built once per timeline, O(operations). */
export interface Operations {
  readonly timeline: Timeline;
  /**
   * Of a schedule file: times are steps, stages are ranks and chunks stages as PyTorch counts them, and nothing is known of slices and
   * tokens.
   */
  readonly ofFile: boolean;
  readonly stages: number;
  readonly count: number;
  /** Whether any sequence is cut into slices, and whether any stage has several chunks: else neither is named. */
  readonly sliced: boolean;
  readonly severalMicroBatches: boolean;
  readonly chunked: boolean;
  /** Shade of each row, 0 to 3, where it is not that of its micro-batch. */
  readonly shades?: Uint8Array;
  /**
   * Busy ms of all rows before this one, for each part: forward, backward and weight backward; length `count + 1`. Differences within a
   * stage are sums.
   */
  readonly beforeMs: PerPart<Float64Array>;
  readonly parts: Parts;
  /** Row of (chunk, kind, unit) or -1; whole and input backward stand for each other. */
  readonly findRow: (chunk: number, kind: OperationKind, unit: number) => number;
}

/** Shade of a row, 0 to 3: neighbours differ. */
export function shadeOfRow({ shades, timeline }: Operations, row: number): number {
  return shades === undefined ? (timeline.units[at(timeline.unit, row)]?.microBatch ?? 0) % 4 : at(shades, row);
}

/** One value for each part, in order of `part`. */
type PerPart<T> = readonly [forward: T, backward: T, weight: T];

/** One operation, spelled out. */
export interface Operation {
  readonly row: number;
  readonly stage: number;
  /** Virtual stage, in layer order over all stages. */
  readonly chunk: number;
  readonly kind: OperationKind;
  readonly unitIndex: number;
  readonly unit: WorkUnit;
  readonly startMs: number;
  readonly endMs: number;
}

/** @throws RangeError when the columns contradict each other. */
export function indexOperations(timeline: Timeline, ofFile = false): Operations {
  const { stages, rowStart, kind, unit, startMs, endMs } = timeline;
  const count = rowStart[stages] ?? 0;
  if (startMs.length < count || endMs.length < count || kind.length < count || unit.length < count)
    throw new RangeError('timeline columns are shorter than its rows');
  const beforeMs = [new Float64Array(count + 1), new Float64Array(count + 1), new Float64Array(count + 1)] as const;
  const [forward, backward, weight] = beforeMs;
  for (let row = 0; row < count; row++) {
    const busyMs = at(endMs, row) - at(startMs, row);
    const of = operationPart(kind[row]);
    forward[row + 1] = at(forward, row) + (of === part.forward ? busyMs : 0);
    backward[row + 1] = at(backward, row) + (of === part.backward ? busyMs : 0);
    weight[row + 1] = at(weight, row) + (of === part.weight ? busyMs : 0);
  }
  const parts = indexParts(timeline);
  return {
    timeline,
    ofFile,
    stages,
    count,
    sliced: !ofFile && timeline.units.some(({ slice }) => slice > 0),
    severalMicroBatches: timeline.units.some(({ microBatch }) => microBatch > 0),
    chunked: timeline.stageOfChunk.length > stages,
    beforeMs,
    parts,
    findRow: (chunk, wanted, unitIndex) => findRow(timeline, parts, wanted, chunk, unitIndex),
  };
}

/** @throws RangeError when there is no such row. */
export function operationAt(operations: Operations, row: number): Operation {
  const { timeline } = operations;
  const unitIndex = at(timeline.unit, row);
  const unit = timeline.units[unitIndex];
  if (unit === undefined || row < 0 || row >= operations.count) throw new RangeError(`no operation ${row}`);
  return {
    row,
    stage: rowStage(operations, row),
    chunk: at(timeline.chunk, row),
    kind: at(timeline.kind, row) as OperationKind,
    unitIndex,
    unit,
    startMs: at(timeline.startMs, row),
    endMs: at(timeline.endMs, row),
  };
}

/** Stage that owns a row. */
function rowStage({ timeline, stages }: Operations, row: number): number {
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
export function stageRows({ timeline }: Operations, stage: number): { readonly first: number; readonly end: number } {
  return { first: at(timeline.rowStart, stage), end: at(timeline.rowStart, stage + 1) };
}

/** First row of [first, end) that ends after `ms`, else `end`. */
export function firstEndingAfter({ timeline }: Operations, first: number, end: number, ms: number): number {
  return firstAbove(timeline.endMs, first, end, ms);
}

/** First row of [first, end) that starts after `ms`, else `end`. */
function firstStartingAfter({ timeline }: Operations, first: number, end: number, ms: number): number {
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
  const { first, end } = stageRows(operations, stage);
  const row = firstEndingAfter(operations, first, end, ms);
  return row < end && at(operations.timeline.startMs, row) <= ms ? operationAt(operations, row) : null;
}

/** As `hit`, else the nearest operation of the stage within `slackMs`. */
export function hitNear(operations: Operations, stage: number, ms: number, slackMs: number): Operation | null {
  const exact = hit(operations, stage, ms);
  if (exact !== null) return exact;
  const { first, end } = stageRows(operations, stage);
  const after = firstEndingAfter(operations, first, end, ms);
  const near = [after - 1, after]
    .filter((row) => row >= first && row < end)
    .map((row) => operationAt(operations, row))
    .map((operation) => ({ operation, distance: Math.max(operation.startMs - ms, ms - operation.endMs) }))
    .sort((a, b) => a.distance - b.distance)[0];
  return near !== undefined && near.distance <= slackMs ? near.operation : null;
}

/** The operation of a stage that runs at a time, else the last one before it, else its first; null for a stage without any. */
export function operationBy(operations: Operations, stage: number, ms: number): Operation | null {
  const { first, end } = stageRows(operations, stage);
  if (end <= first) return null;
  return operationAt(operations, Math.max(first, firstStartingAfter(operations, first, end, ms) - 1));
}

const allParts: readonly Part[] = [part.forward, part.backward, part.weight];

/** Sums over a range of time and stages, clipped to it. */
interface RangeSums {
  readonly operations: number;
  readonly forwardMs: number;
  /** Whole backward and the gradient of the input. */
  readonly backwardMs: number;
  /** The gradient of the weights where backward is split. */
  readonly weightMs: number;
  readonly idleMs: number;
  /** Idle share of the range, 0..1. */
  readonly idleShare: number;
}

/** Sums what stages `firstStage` to `lastStage` (both included) do between two times. O(stages log operations). */
export function sumRange(operations: Operations, startMs: number, endMs: number, firstStage: number, lastStage: number): RangeSums {
  const { timeline, beforeMs } = operations;
  const busyMs: [number, number, number] = [0, 0, 0];
  let count = 0;
  for (let stage = firstStage; stage <= lastStage; stage++) {
    const { first, end } = stageRows(operations, stage);
    const from = firstEndingAfter(operations, first, end, startMs);
    const until = Math.max(from, firstStartingAfter(operations, from, end, endMs));
    count += until - from;
    for (const each of allParts) busyMs[each] += at(beforeMs[each], until) - at(beforeMs[each], from);
    if (until === from) continue;
    for (const [row, outside] of [
      [from, Math.max(0, startMs - at(timeline.startMs, from))],
      [until - 1, Math.max(0, at(timeline.endMs, until - 1) - endMs)],
    ] as const)
      busyMs[operationPart(timeline.kind[row])] -= outside;
  }
  const [forwardMs, backwardMs, weightMs] = busyMs;
  const availableMs = Math.max(0, endMs - startMs) * (lastStage - firstStage + 1);
  const idleMs = Math.max(0, availableMs - forwardMs - backwardMs - weightMs);
  return { operations: count, forwardMs, backwardMs, weightMs, idleMs, idleShare: availableMs > 0 ? idleMs / availableMs : 0 };
}

/** Idle share of every stage over the whole pipeline part, 0..1; NaN of one that a trace does not show. */
export function idleShares(operations: Operations): Float64Array {
  const { makespanMs } = operations.timeline;
  return Float64Array.from({ length: operations.stages }, (_, stage) => {
    const { first, end } = stageRows(operations, stage);
    if (end <= first) return Number.NaN;
    const busyMs = operations.beforeMs.reduce((sum, column) => sum + at(column, end) - at(column, first), 0);
    return makespanMs > 0 ? Math.max(0, 1 - busyMs / makespanMs) : 0;
  });
}

/** Element of a column; 0 past its end, which callers have ruled out. */
export function at(column: ArrayLike<number>, index: number): number {
  return column[index] ?? 0;
}
