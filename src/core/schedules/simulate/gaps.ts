import { linkKind, waitedFor } from './critical-path';
import { indexParts, type Parts } from '../parts';
import { operationKind, type Timeline } from '../schedule';

/** Gaps shorter than this share of the makespan are rounding. */
export const roundingShare = 1e-12;

/**
 * Why a stage idles:
 * - `warm-up`: its first activations have not arrived.
 * - `turn`: all forwards done, the first gradients have not arrived.
 * - `drain`: it is done, other stages are not.
 * - `activation`, `gradient`: in between, it waits for what another chunk hands to it.
 */
export type GapCause = 'warm-up' | 'turn' | 'drain' | 'activation' | 'gradient';

export interface Gap {
  readonly startMs: number;
  readonly endMs: number;
  readonly cause: GapCause;
  /** Row of the operation that ends the gap; null for `drain`. */
  readonly row: number | null;
}

/**
 * The idle times of one stage from 0 to the makespan, ascending. `parts` saves looking up the other row of overlapped pairs for every
 * stage.
 */
export function idleGaps(timeline: Timeline, stage: number, parts?: Parts): Gap[] {
  const { rowStart, kind, startMs, endMs, makespanMs, overlapsNext } = timeline;
  const from = rowStart[stage] ?? 0;
  const to = rowStart[stage + 1] ?? 0;
  const shortest = roundingShare * makespanMs;
  const kinds = kind.subarray(from, to);
  const lastForward = kinds.lastIndexOf(operationKind.forward) + from;
  const firstBackward = kinds.findIndex((what) => what !== operationKind.forward) + from;
  let known = parts;
  const waitsForGradient = (row: number): boolean =>
    overlapsNext?.[row] === 1
      ? waitedFor(timeline, (known ??= indexParts(timeline)), row).link === linkKind.gradient
      : kind[row] !== operationKind.forward;
  const gaps: Gap[] = [];
  let freeMs = 0;
  for (let row = from; row < to; row++) {
    const start = startMs[row] ?? 0;
    if (start - freeMs > shortest) {
      const turn = row === firstBackward && lastForward < row;
      const cause: GapCause = row === from ? 'warm-up' : turn ? 'turn' : waitsForGradient(row) ? 'gradient' : 'activation';
      gaps.push({ startMs: freeMs, endMs: start, cause, row });
    }
    freeMs = endMs[row] ?? freeMs;
  }
  if (makespanMs - freeMs > shortest) gaps.push({ startMs: freeMs, endMs: makespanMs, cause: 'drain', row: null });
  return gaps;
}

/** The part of a gap after the end of what its row waited for, ms: what that hands on waits for the link and is sent. */
export function linkWait(timeline: Timeline, parts: Parts, { row, startMs }: Pick<Gap, 'row' | 'startMs'>): number {
  const source = row === null ? -1 : waitedFor(timeline, parts, row).row;
  if (row === null || source < 0) return 0;
  return Math.max(0, (timeline.startMs[row] ?? 0) - Math.max(startMs, timeline.endMs[source] ?? 0));
}

/**
 * Causes that share out the idle time of a stage: those of its gaps, and the parts of them that links and unequal stages are to blame for.
 */
export const idleCauses = ['warm-up', 'turn', 'activation', 'gradient', 'drain', 'link', 'imbalance'] as const;
export type IdleCause = (typeof idleCauses)[number];

/** Idle time of each stage from 0 to the makespan by cause, ms; the causes of a stage add up to its idle time. */
export type IdleTimes = Readonly<Record<IdleCause, Float64Array>>;
