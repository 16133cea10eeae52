import { indexParts, lastOfPair, findSourceRow, type Parts } from '../parts';
import { operationKind, type Timeline } from '../schedule';

/**
 * Values of the `link` column: the row starts the step, follows the row before on its stage, or waited for activations or gradients of
 * another stage.
 */
export const linkKind = { start: 0, order: 1, activation: 2, gradient: 3 } as const;

/** One chain of operations, each waiting for the one before it, from 0 to the end of the step; columns in time order. */
interface CriticalPath {
  readonly rows: Uint32Array;
  /** How each row depends on the one before: one of `linkKind`. */
  readonly link: Uint8Array;
  /** From the end of the row before to the start of this one, ms: what is handed on waits for a link and is sent. */
  readonly transferMs: Float64Array;
}

/**
 * A critical path: shortening the step takes shortening it. Its durations and transfers add up to the makespan. Where a row waited for its
 * stage and for data alike, the stage counts. A result of an overlapped pair is ready when the pair ends, so both of its rows are on the
 * path. Linear.
 */
export function criticalPath(timeline: Timeline, parts: Parts = indexParts(timeline)): CriticalPath {
  const rows: number[] = [];
  const links: number[] = [];
  const transfers: number[] = [];
  let row = lastRow(timeline);
  while (row >= 0) {
    const before = waitedFor(timeline, parts, row);
    rows.push(row);
    links.push(before.link);
    transfers.push(before.row < 0 ? 0 : (timeline.startMs[row] ?? 0) - (timeline.endMs[before.row] ?? 0));
    row = before.row;
  }
  return {
    rows: Uint32Array.from(rows.reverse()),
    link: Uint8Array.from(links.reverse()),
    transferMs: Float64Array.from(transfers.reverse()),
  };
}

function lastRow({ stages, rowStart, endMs }: Timeline): number {
  let last = -1;
  for (let stage = 0; stage < stages; stage++) {
    const row = (rowStart[stage + 1] ?? 0) - 1;
    if (row >= (rowStart[stage] ?? 0) && (last < 0 || (endMs[row] ?? 0) > (endMs[last] ?? 0))) last = row;
  }
  return last;
}

/** What a row waited for. */
interface WaitedFor {
  /** The row after whose end, and transfer, it could start; of an overlapped pair the second. -1 where it starts the step. */
  readonly row: number;
  readonly link: (typeof linkKind)[keyof typeof linkKind];
}

/**
 * The last thing that a row waited for: the row before it on its stage, or what another chunk hands to it or, at the start of an overlapped
 * pair, to the other row of the pair.
 */
export function waitedFor(timeline: Timeline, parts: Parts, row: number): WaitedFor {
  const { stageOfChunk, rowStart, chunk, kind, startMs, endMs, arrivalMs, overlapsNext } = timeline;
  const first = rowStart[stageOfChunk[chunk[row] ?? 0] ?? 0] ?? 0;
  const start = startMs[row] ?? 0;
  if (row > first && (overlapsNext?.[row - 1] === 1 || (endMs[row - 1] ?? 0) >= start)) return { row: row - 1, link: linkKind.order };
  let latest: WaitedFor = row > first ? { row: row - 1, link: linkKind.order } : { row: -1, link: linkKind.start };
  let latestMs = row > first ? (endMs[row - 1] ?? 0) : -1;
  for (let each = row; each <= lastOfPair(timeline, row); each++) {
    const source = findSourceRow(timeline, parts, each);
    if (source < 0) continue;
    const there = (arrivalMs ?? endMs)[source] ?? 0;
    if (there <= latestMs) continue;
    latestMs = there;
    latest = { row: lastOfPair(timeline, source), link: kind[each] === operationKind.forward ? linkKind.activation : linkKind.gradient };
  }
  return latest;
}
