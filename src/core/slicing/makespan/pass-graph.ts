import { operationKind, type Schedule } from '../../schedules/schedule';

/** Which of a slice's times the passes of each chunk take, as indices. */
export interface ChunkTimes {
  readonly forward: number;
  /** As a whole; unused where the order splits it. */
  readonly backward: number;
  readonly backwardInput: number;
  readonly backwardWeight: number;
  /** What a forward or a backward hands on arrives this much later; null: at once. */
  readonly sendForward: number | null;
  readonly sendBackward: number | null;
}

/** Which sends take time: all; or, between the first chunks of stages, only those of stage 0's first forward and last backward. */
type DelayedSends = 'all' | 'fill-and-drain';

/**
 * The operations of a schedule in an order in which each comes after all that it waits for. Every one waits for the operation before it on
 * its stage and for at most one other. Its duration, and what that other's result takes to arrive, are entries of a vector of times: entry
 * `slice * times + time`, and one more at the end that is 0.
 */
export interface PassGraph {
  readonly slices: number;
  readonly times: number;
  /** Of each operation the one before it on its stage, and the one whose result it takes; -1 for none. */
  readonly previous: Int32Array;
  readonly source: Int32Array;
  readonly duration: Int32Array;
  readonly delay: Int32Array;
  /** Scratch: when each ends. */
  readonly endMs: Float64Array;
}

/**
 * The graph of a schedule whose micro-batches are all cut into `slices` slices. It waits for what `simulate` waits for
 * (docs/model/schedules.md, Simulation). @throws RangeError where its order has a deadlock.
 */
export function passGraph(
  schedule: Schedule,
  slices: number,
  times: number,
  chunks: readonly ChunkTimes[],
  sends: DelayedSends,
): PassGraph {
  const { stages, stageOfChunk, units, rowStart, kind, chunk, unit } = schedule;
  const { forward, backward, backwardInput, backwardWeight } = operationKind;
  const count = kind.length;
  const graph: PassGraph = {
    slices,
    times,
    previous: new Int32Array(count).fill(-1),
    source: new Int32Array(count).fill(-1),
    duration: new Int32Array(count),
    delay: new Int32Array(count).fill(slices * times),
    endMs: new Float64Array(count),
  };
  const doneForward = new Int32Array(stageOfChunk.length * units.length).fill(-1);
  const doneBackward = new Int32Array(stageOfChunk.length * units.length).fill(-1);
  const exposed = sends === 'all' ? null : exposedUnits(schedule);
  const next = rowStart.slice(0, stages);
  const last = new Int32Array(stages).fill(-1);
  /** Where the result that a row takes from another chunk comes from: its chunk, or -1. */
  const sourceChunk = (row: number): number => {
    const own = chunk[row] ?? 0;
    if (kind[row] === forward) return own - 1;
    return kind[row] === backwardWeight || own + 1 === stageOfChunk.length ? -1 : own + 1;
  };
  let placed = 0;
  const place = (row: number, stage: number, from: number, at: number): void => {
    const u = unit[row] ?? 0;
    const c = chunk[row] ?? 0;
    const what = chunks[c];
    const giver = chunks[from];
    if (what === undefined) throw new RangeError(`no times for chunk ${c}`);
    const slice = (units[u]?.slice ?? 0) * times;
    const isForward = kind[row] === forward;
    const time = isForward
      ? what.forward
      : kind[row] === backward
        ? what.backward
        : kind[row] === backwardInput
          ? what.backwardInput
          : what.backwardWeight;
    graph.duration[placed] = slice + time;
    graph.previous[placed] = last[stage] ?? -1;
    if (from >= 0) {
      graph.source[placed] = at;
      const send = isForward ? giver?.sendForward : giver?.sendBackward;
      const isLate = exposed === null || ((isForward ? exposed.forward : exposed.backward) === u && Math.max(c, from) < stages);
      if (send !== null && send !== undefined && isLate && stageOfChunk[from] !== stage) graph.delay[placed] = slice + send;
    }
    const done = isForward ? doneForward : doneBackward;
    if (kind[row] !== backwardWeight) done[c * units.length + u] = placed;
    last[stage] = placed++;
  };
  for (let moved = true; moved;) {
    moved = false;
    for (let stage = 0; stage < stages; stage++)
      for (let row = next[stage] ?? 0; row < (rowStart[stage + 1] ?? 0); row++) {
        const from = sourceChunk(row);
        const at = from < 0 ? -1 : ((kind[row] === forward ? doneForward : doneBackward)[from * units.length + (unit[row] ?? 0)] ?? -1);
        if (from >= 0 && at < 0) break;
        place(row, stage, from, at);
        next[stage] = row + 1;
        moved = true;
      }
  }
  if (placed < count) throw new RangeError(`${count - placed} operations wait for each other`);
  return graph;
}

function exposedUnits({ rowStart, kind, unit }: Schedule): { readonly forward: number; readonly backward: number } {
  const rows = kind.subarray(0, rowStart[1] ?? 0);
  const last = Math.max(rows.lastIndexOf(operationKind.backward), rows.lastIndexOf(operationKind.backwardInput));
  return { forward: unit[rows.indexOf(operationKind.forward)] ?? 0, backward: unit[last] ?? 0 };
}

/** When the last operation ends, ms, where each takes what `ms` gives; fills `endMs`. The longest path through the graph. */
export function graphMakespan({ previous, source, duration, delay, endMs }: PassGraph, ms: Float64Array): number {
  let latest = 0;
  for (let index = 0; index < previous.length; index++) {
    const before = previous[index] ?? -1;
    const from = source[index] ?? -1;
    let start = before < 0 ? 0 : (endMs[before] ?? 0);
    if (from >= 0) {
      const there = (endMs[from] ?? 0) + (ms[delay[index] ?? 0] ?? 0);
      if (there > start) start = there;
    }
    const end = start + (ms[duration[index] ?? 0] ?? 0);
    endMs[index] = end;
    if (end > latest) latest = end;
  }
  return latest;
}

/**
 * How often each time is on the longest path that `graphMakespan` just found for the same `ms`: a vector like `ms`. With any other times of
 * the same operations that path is still one, so its sum is a lower bound on the makespan then.
 */
export function longestPath({ slices, times, previous, source, duration, delay, endMs }: PassGraph, ms: Float64Array): Float64Array {
  const counts = new Float64Array(slices * times + 1);
  let at = 0;
  for (let index = 1; index < endMs.length; index++) if ((endMs[index] ?? 0) > (endMs[at] ?? 0)) at = index;
  while (at >= 0) {
    const spent = duration[at] ?? 0;
    counts[spent] = (counts[spent] ?? 0) + 1;
    const before = previous[at] ?? -1;
    const from = source[at] ?? -1;
    const late = delay[at] ?? 0;
    if (from >= 0 && (before < 0 || (endMs[from] ?? 0) + (ms[late] ?? 0) > (endMs[before] ?? 0))) {
      counts[late] = (counts[late] ?? 0) + 1;
      at = from;
    } else at = before;
  }
  counts[slices * times] = 0;
  return counts;
}

/** The work of each stage as such a vector, the path that never leaves it. */
export function stagePaths({ slices, times, previous, duration }: PassGraph): Float64Array[] {
  const paths: Float64Array[] = [];
  const operationStage = new Int32Array(previous.length);
  for (let index = 0; index < previous.length; index++) {
    const before = previous[index] ?? -1;
    const stage = before < 0 ? paths.push(new Float64Array(slices * times + 1)) - 1 : (operationStage[before] ?? 0);
    operationStage[index] = stage;
    const path = paths[stage];
    const spent = duration[index] ?? 0;
    if (path !== undefined) path[spent] = (path[spent] ?? 0) + 1;
  }
  return paths;
}
