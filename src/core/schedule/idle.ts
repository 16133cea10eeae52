import { operationKind, type Timeline } from './schedule';

/** How busy the stages are. */
export interface BusyTimes {
  /** Per stage, ms. */
  readonly busyMs: Float64Array;
  /** From the first start to the last end of each stage, ms. */
  readonly spanMs: Float64Array;
  /** 1 - mean busy time / longest span; 0 for an empty timeline. */
  readonly bubbleRate: number;
}

/** Sums up the operations of each stage. */
export function busyTimes({ stages, rowStart, startMs, endMs }: Timeline): BusyTimes {
  const busyMs = new Float64Array(stages);
  const spanMs = new Float64Array(stages);
  for (let stage = 0; stage < stages; stage++) {
    const from = rowStart[stage] ?? 0;
    const to = rowStart[stage + 1] ?? 0;
    let busy = 0;
    for (let row = from; row < to; row++) busy += (endMs[row] ?? 0) - (startMs[row] ?? 0);
    busyMs[stage] = busy;
    if (to > from) spanMs[stage] = (endMs[to - 1] ?? 0) - (startMs[from] ?? 0);
  }
  const longest = spanMs.reduce((most, ms) => Math.max(most, ms), 0);
  const mean = busyMs.reduce((sum, ms) => sum + ms, 0) / stages;
  return { busyMs, spanMs, bubbleRate: longest > 0 ? 1 - mean / longest : 0 };
}

/**
 * Why a stage stands still:
 * - `warm-up`: its first activations have not arrived.
 * - `turn`: all forwards done, the first gradients have not arrived.
 * - `drain`: it is done, other stages are not.
 * - `activation`, `gradient`: in between, it waits for the stage before or after.
 */
export type GapCause = 'warm-up' | 'turn' | 'drain' | 'activation' | 'gradient';

export interface Gap {
  readonly startMs: number;
  readonly endMs: number;
  readonly cause: GapCause;
  /** Row of the operation that ends the gap; null for `drain`. */
  readonly row: number | null;
}

/** Gaps shorter than this share of the makespan are rounding. */
const roundingShare = 1e-12;

/** The idle times of one stage from 0 to the makespan, ascending. */
export function gapsOf(timeline: Timeline, stage: number): Gap[] {
  const { rowStart, kind, startMs, endMs, makespanMs } = timeline;
  const from = rowStart[stage] ?? 0;
  const to = rowStart[stage + 1] ?? 0;
  const shortest = roundingShare * makespanMs;
  const lastForward = kind.subarray(from, to).lastIndexOf(operationKind.forward) + from;
  const firstBackward = kind.subarray(from, to).indexOf(operationKind.backward) + from;
  const gaps: Gap[] = [];
  let freeMs = 0;
  for (let row = from; row < to; row++) {
    const start = startMs[row] ?? 0;
    if (start - freeMs > shortest) {
      const turn = row === firstBackward && lastForward < row;
      const waiting: GapCause = kind[row] === operationKind.forward ? 'activation' : 'gradient';
      gaps.push({ startMs: freeMs, endMs: start, cause: row === from ? 'warm-up' : turn ? 'turn' : waiting, row });
    }
    freeMs = endMs[row] ?? freeMs;
  }
  if (makespanMs - freeMs > shortest) gaps.push({ startMs: freeMs, endMs: makespanMs, cause: 'drain', row: null });
  return gaps;
}
