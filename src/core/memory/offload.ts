import { formatBytes, formatDuration, formatNumber } from '../format';
import { operationKind, type Timeline } from '../schedule/schedule';
import type { ChunkMemory } from './chunk-memory';
import { liveCurve, type LiveCurve } from './curve';

/*
 * Saved activations that wait in the host's memory (PipeOffload, arXiv 2503.01328): they leave after their forward and are back before their backward, those that wait longest first, since
 * they free most for the same copy. Copies run beside compute, one direction not slowing the other; none is made that would make the pipeline wait, so times stay as they are.
 */

/** PCIe x16, one direction, GB/s, of generation 3, 4 and 5: 80 % of the raw 15.75, 31.5 and 63, which copies from pinned memory reach. */
const pciExpressGBps = { 3: 12.6, 4: 25.2, 5: 50.4 } as const;

/** What a GPU's link to its host carries in one direction, GB/s, where no file says: PCIe x16 of the generation on its data sheet; generation 4 for cards not known. */
export function assumedHostLinkGBps(gpuName: string): number {
  return pciExpressGBps[/^(?:V100|T4)/u.test(gpuName) ? 3 : /^(?:H|B|GB|MI3)\d/u.test(gpuName) ? 5 : 4];
}

export interface OffloadOptions {
  /** Of all activations that the stage saves in a step, 0..1. */
  readonly share: number;
  /** Host link of one GPU, one direction, GB/s. */
  readonly hostLinkGBps: number;
}

export interface Offload {
  readonly curve: LiveCurve;
  /** Highest point of the curve. */
  readonly peakBytes: number;
  /** Copied out and back in one step if all that was asked were, and what of it is, hidden beside compute. */
  readonly askedBytes: number;
  readonly hiddenBytes: number;
  /** Time of the copies in one direction: of all that was asked, and of what is hidden. */
  readonly askedMs: number;
  readonly hiddenMs: number;
}

/** Waits of saved activations between a unit's forward and its backward, in columns, in the order of the forwards. */
interface Waits {
  readonly bytes: Float64Array;
  readonly fromMs: Float64Array;
  readonly untilMs: Float64Array;
}

/**
 * Activations of one stage kept in host memory while they wait, over a timeline that this does not change.
 *
 * The units that wait longest go first, until `share` of the bytes is reached or the next one's copies would not be done in time. A copy out starts when its forward has ended and the copies before
 * it are done; its memory is free at its end. A copy back takes its memory at its start and is done when its backward starts, or when the next copy back has to start.
 *
 * @param chunks one per chunk of the timeline, as for `liveCurve`.
 */
export function offloadActivations(
  timeline: Timeline,
  chunks: readonly ChunkMemory[],
  stage: number,
  staticBytes: number,
  { share, hostLinkGBps }: OffloadOptions,
): Offload {
  const waits = waitsOf(timeline, chunks, stage);
  const copyMs = waits.bytes.map((bytes) => bytes / hostLinkGBps / 1e6);
  const count = waits.bytes.length;
  const longestFirst = Uint32Array.from({ length: count }, (_, index) => index).sort(
    (a, b) => waitMs(waits, b) - waitMs(waits, a) || a - b,
  );
  const all = waits.bytes.reduce((sum, bytes) => sum + bytes, 0);
  const order = Uint32Array.from({ length: count }, (_, index) => index).sort(
    (a, b) => (waits.untilMs[b] ?? 0) - (waits.untilMs[a] ?? 0) || b - a,
  );
  let asked = 0;
  let askedBytes = 0;
  // A rounding error more or less is not a unit.
  while (asked < count && askedBytes < share * all * (1 - 1e-12)) askedBytes += waits.bytes[longestFirst[asked++] ?? 0] ?? 0;

  const rank = new Uint32Array(count);
  longestFirst.forEach((index, at) => (rank[index] = at));
  const plan = (units: number): Copies => scheduleCopies(waits, copyMs, order, rank, units);
  // Fewer copies are never later out or earlier back, so that the most that fit can be bisected.
  let [fit, over] = [0, asked + 1];
  while (over - fit > 1) {
    const middle = (fit + over) >>> 1;
    if (plan(middle).inTime) fit = middle;
    else over = middle;
  }
  const moved = longestFirst.subarray(0, fit);
  const curve = movedCurve(liveCurve(timeline, chunks, stage, staticBytes), waits, moved, plan(fit));
  const hiddenBytes = moved.reduce((sum, index) => sum + (waits.bytes[index] ?? 0), 0);
  return {
    curve,
    peakBytes: curve.bytes.reduce((most, bytes) => Math.max(most, bytes), 0),
    askedBytes,
    hiddenBytes,
    askedMs: askedBytes / hostLinkGBps / 1e6,
    hiddenMs: hiddenBytes / hostLinkGBps / 1e6,
  };
}

/** In one sentence what is copied, and what cannot be without waiting. */
export function describeOffload({ askedBytes, hiddenBytes, askedMs, hiddenMs }: Offload, hostLinkGBps: number): string {
  const link = `${formatNumber(hostLinkGBps)} GB/s`;
  if (hiddenBytes >= askedBytes)
    return `${formatBytes(hiddenBytes)} of activations leave and come back beside compute: ${formatDuration(hiddenMs)} each way at ${link}`;
  const left = askedBytes - hiddenBytes;
  return `${formatBytes(hiddenBytes)} of ${formatBytes(askedBytes)} of activations leave and come back beside compute; the other ${formatBytes(left)} stay, since their copies, ${formatDuration(askedMs - hiddenMs)} each way at ${link}, would not be done in time`;
}

function waitMs({ fromMs, untilMs }: Waits, index: number): number {
  return (untilMs[index] ?? 0) - (fromMs[index] ?? 0);
}

function waitsOf({ units, rowStart, kind, chunk, unit, startMs, endMs }: Timeline, chunks: readonly ChunkMemory[], stage: number): Waits {
  const forwardRows: number[] = [];
  const until = new Map<number, number>();
  for (let row = rowStart[stage] ?? 0; row < (rowStart[stage + 1] ?? 0); row++) {
    if (kind[row] === operationKind.forward) forwardRows.push(row);
    else if (kind[row] !== operationKind.backwardWeight) until.set((chunk[row] ?? 0) * units.length + (unit[row] ?? 0), startMs[row] ?? 0);
  }
  return {
    bytes: Float64Array.from(forwardRows, (row) => {
      const memory = chunks[chunk[row] ?? 0];
      return memory?.alike[memory.kindOf[unit[row] ?? 0] ?? 0]?.activations ?? 0;
    }),
    fromMs: Float64Array.from(forwardRows, (row) => endMs[row] ?? 0),
    untilMs: Float64Array.from(forwardRows, (row) => until.get((chunk[row] ?? 0) * units.length + (unit[row] ?? 0)) ?? endMs[row] ?? 0),
  };
}

interface Copies {
  readonly outMs: Float64Array;
  readonly backMs: Float64Array;
  readonly inTime: boolean;
}

/** When each of the `units` units of lowest rank is out, as early as can be, and starts back, as late as can be. `order`: by need, the last first. */
function scheduleCopies(waits: Waits, copyMs: Float64Array, order: Uint32Array, rank: Uint32Array, units: number): Copies {
  const outMs = new Float64Array(rank.length);
  const backMs = new Float64Array(rank.length);
  let freeMs = 0;
  for (let index = 0; index < rank.length; index++) {
    if ((rank[index] ?? 0) >= units) continue;
    freeMs = Math.max(freeMs, waits.fromMs[index] ?? 0) + (copyMs[index] ?? 0);
    outMs[index] = freeMs;
  }
  let inTime = true;
  let takenMs = Infinity;
  for (const index of order) {
    if ((rank[index] ?? 0) >= units) continue;
    takenMs = Math.min(takenMs, waits.untilMs[index] ?? 0) - (copyMs[index] ?? 0);
    backMs[index] = takenMs;
    if (takenMs < (outMs[index] ?? 0)) inTime = false;
  }
  return { outMs, backMs, inTime };
}

/** The curve without what is away. At equal times what goes comes before what comes, and what comes back before the operation that needs it. */
function movedCurve(curve: LiveCurve, { bytes }: Waits, moved: Uint32Array, { outMs, backMs }: Copies): LiveCurve {
  const leaves = Array.from(moved).sort((a, b) => (outMs[a] ?? 0) - (outMs[b] ?? 0));
  const returns = Array.from(moved).sort((a, b) => (backMs[a] ?? 0) - (backMs[b] ?? 0));
  const length = curve.timeMs.length + 2 * moved.length;
  const [timeMs, live] = [new Float64Array(length), new Float64Array(length)];
  let [away, base, own, left, returned] = [0, 0, 0, 0, 0];
  for (let point = 0; point < length; point++) {
    const leave = leaves[left];
    const back = returns[returned];
    const leaveMs = leave === undefined ? Infinity : (outMs[leave] ?? 0);
    const backAtMs = back === undefined ? Infinity : (backMs[back] ?? 0);
    const ownMs = curve.timeMs[own] ?? Infinity;
    const next = curve.bytes[own] ?? 0;
    if (ownMs < Math.min(leaveMs, backAtMs) || (next < base && ownMs === Math.min(leaveMs, backAtMs))) {
      base = next;
      own++;
      timeMs[point] = ownMs;
    } else if (leave !== undefined && leaveMs <= backAtMs) {
      away += bytes[leave] ?? 0;
      left++;
      timeMs[point] = leaveMs;
    } else if (back !== undefined) {
      away -= bytes[back] ?? 0;
      returned++;
      timeMs[point] = backAtMs;
    }
    live[point] = base - away;
  }
  return { timeMs, bytes: live };
}
