import { operationKind, type Schedule, type Timeline } from '../schedule/schedule';

/** A step curve: from `timeMs[i]` on `bytes[i]` are in use, until `timeMs[i + 1]`. */
export interface LiveCurve {
  readonly timeMs: Float64Array;
  readonly bytes: Float64Array;
}

/**
 * Bytes in use on one stage over time: `staticBytes` always, and of each unit its `unitBytes` (one entry per unit) from the start of its forward to the end of
 * its backward. One point at 0 and one per operation.
 */
export function liveBytes(timeline: Timeline, stage: number, unitBytes: Float64Array, staticBytes: number): LiveCurve {
  const { rowStart, kind, unit, startMs, endMs } = timeline;
  const from = rowStart[stage] ?? 0;
  const to = rowStart[stage + 1] ?? 0;
  const timeMs = new Float64Array(to - from + 1);
  const bytes = new Float64Array(to - from + 1);
  let live = staticBytes;
  bytes[0] = live;
  for (let row = from; row < to; row++) {
    const forward = kind[row] === operationKind.forward;
    const size = unitBytes[unit[row] ?? 0] ?? 0;
    live += forward ? size : -size;
    timeMs[row - from + 1] = (forward ? startMs[row] : endMs[row]) ?? 0;
    bytes[row - from + 1] = live;
  }
  return { timeMs, bytes };
}

/** Most units that are between the start of their forward and the end of their backward at once on one stage; depends on the order alone. */
export function maximumUnitsInFlight({ rowStart, kind }: Schedule, stage: number): number {
  let live = 0;
  let most = 0;
  for (let row = rowStart[stage] ?? 0; row < (rowStart[stage + 1] ?? 0); row++) {
    live += kind[row] === operationKind.forward ? 1 : -1;
    most = Math.max(most, live);
  }
  return most;
}
