import { liveCurve, type LiveCurve } from '../../../src/core/memory-model/curve';
import type { MemoryProfile } from '../../../src/core/memory-model/profile';
import { gapsOf, type Gap, type GapCause } from '../../../src/core/schedules/simulate/gaps';
import { at, rowsOf, type Operations } from '../../base/operations';

/** A dragged range: times, and stages, both included. */
export interface Range {
  readonly startMs: number;
  readonly endMs: number;
  readonly firstStage: number;
  readonly lastStage: number;
}

const knownGaps = new WeakMap<Operations, Map<number, readonly Gap[]>>();

/** The idle times of a stage, ascending; looked for once. */
export function stageGaps(operations: Operations, stage: number): readonly Gap[] {
  const known = knownGaps.get(operations) ?? new Map<number, readonly Gap[]>();
  knownGaps.set(operations, known);
  const gaps = known.get(stage) ?? gapsOf(operations.timeline, stage, operations.parts);
  known.set(stage, gaps);
  return gaps;
}

/** Idle time of a range by its cause, summed over its stages, ms; causes that are not there are left out. */
export function idleInRange(operations: Operations, { startMs, endMs, firstStage, lastStage }: Range): ReadonlyMap<GapCause, number> {
  const sums = new Map<GapCause, number>();
  for (let stage = firstStage; stage <= lastStage; stage++)
    for (const gap of stageGaps(operations, stage)) {
      const ms = Math.min(endMs, gap.endMs) - Math.max(startMs, gap.startMs);
      if (ms > 0) sums.set(gap.cause, (sums.get(gap.cause) ?? 0) + ms);
    }
  return sums;
}

/** The most memory that a stage of a range has in use during it. */
export interface RangePeak {
  readonly stage: number;
  readonly bytes: number;
}

/** Operations of stages whose curves are drawn for one range: a drag asks in every frame. */
const mostOperations = 200_000;

const knownCurves = new WeakMap<MemoryProfile, Map<number, LiveCurve>>();

/** The highest use of memory in a range; null where the range has too many operations to count it in a frame. */
export function peakInRange(operations: Operations, profile: MemoryProfile, range: Range): RangePeak | null {
  const { first } = rowsOf(operations, range.firstStage);
  const { end } = rowsOf(operations, range.lastStage);
  if (end - first > mostOperations) return null;
  const curves = knownCurves.get(profile) ?? new Map<number, LiveCurve>();
  knownCurves.set(profile, curves);
  let peak: RangePeak | null = null;
  for (const { stage, staticBytes } of profile.stages) {
    if (stage < range.firstStage || stage > range.lastStage) continue;
    const curve = curves.get(stage) ?? liveCurve(operations.timeline, profile.chunks, stage, staticBytes);
    curves.set(stage, curve);
    const bytes = highestIn(curve, range);
    if (peak === null || bytes > peak.bytes) peak = { stage, bytes };
  }
  return peak;
}

function highestIn({ timeMs, bytes }: LiveCurve, { startMs, endMs }: Range): number {
  let most = 0;
  for (let point = 0; point < timeMs.length; point++) {
    if (at(timeMs, point) >= endMs && point > 0) break;
    if ((timeMs[point + 1] ?? Infinity) > startMs) most = Math.max(most, at(bytes, point));
  }
  return most;
}
