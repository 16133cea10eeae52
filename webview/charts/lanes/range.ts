import { liveCurve, type LiveCurve } from '../../../src/core/memory-model/curve';
import type { MemoryProfile } from '../../../src/core/memory-model/profile';
import { linkWait, type GapCause, type IdleCause, type IdleTimes } from '../../../src/core/schedules/simulate/gaps';
import { at, stageRows, type Operations } from '../../base/operations';
import { stageGaps } from './stage-gaps';

/** A dragged range: times, and stages, both included. */
interface Range {
  readonly startMs: number;
  readonly endMs: number;
  readonly firstStage: number;
  readonly lastStage: number;
}

/** Of each stage, the share of its gaps of a cause that is due to unequal stages. */
type ImbalanceShares = ReadonlyMap<GapCause, number>;

const knownShares = new WeakMap<IdleTimes, Map<number, ImbalanceShares>>();

/**
 * What the step's idle times took out of the gaps of each cause, in addition to the links; where steps overlap as far as that is imbalance.
 */
function imbalanceShares(operations: Operations, idle: IdleTimes, stage: number): ImbalanceShares {
  const stages = knownShares.get(idle) ?? new Map<number, ImbalanceShares>();
  knownShares.set(idle, stages);
  const known = stages.get(stage);
  if (known !== undefined) return known;
  const { timeline, parts } = operations;
  const rests = new Map<GapCause, number>();
  for (const gap of stageGaps(operations, stage))
    rests.set(gap.cause, (rests.get(gap.cause) ?? 0) + gap.endMs - gap.startMs - linkWait(timeline, parts, gap));
  const taken = [...rests].map(([cause, ms]) => [cause, ms, Math.max(0, ms - at(idle[cause], stage))] as const);
  const all = taken.reduce((sum, [, , ms]) => sum + ms, 0);
  const part = all > 0 ? Math.min(1, at(idle.imbalance, stage) / all) : 0;
  const shares = new Map(taken.map(([cause, ms, own]) => [cause, ms > 0 ? (part * own) / ms : 0]));
  stages.set(stage, shares);
  return shares;
}

/**
 * Idle time of a range by its cause, summed over its stages, ms; causes that are missing are left out. Each gap ends with what waits for a
 * link, and of the rest unequal stages are to blame for as much as in all gaps of its cause on the stage.
 * @param idle those of the step; null: without links and imbalance.
 */
export function idleInRange(operations: Operations, idle: IdleTimes | null, range: Range): ReadonlyMap<IdleCause, number> {
  const { startMs, endMs, firstStage, lastStage } = range;
  const sums = new Map<IdleCause, number>();
  const add = (cause: IdleCause, ms: number): void => {
    if (ms > 0) sums.set(cause, (sums.get(cause) ?? 0) + ms);
  };
  for (let stage = firstStage; stage <= lastStage; stage++)
    for (const gap of stageGaps(operations, stage)) {
      const [from, to] = [Math.max(startMs, gap.startMs), Math.min(endMs, gap.endMs)];
      if (to <= from) continue;
      const sentMs = idle === null ? 0 : linkWait(operations.timeline, operations.parts, gap);
      const linkMs = Math.max(0, to - Math.max(from, gap.endMs - sentMs));
      const rest = to - from - linkMs;
      const imbalanceMs = idle === null ? 0 : rest * (imbalanceShares(operations, idle, stage).get(gap.cause) ?? 0);
      add(gap.cause, rest - imbalanceMs);
      add('link', linkMs);
      add('imbalance', imbalanceMs);
    }
  return sums;
}

/** The most memory that a stage of a range has in use during it. */
interface RangePeak {
  readonly stage: number;
  readonly bytes: number;
}

/** Operations of stages whose curves are drawn for one range: a drag asks in every frame. */
const mostOperations = 200_000;

const knownCurves = new WeakMap<MemoryProfile, Map<number, LiveCurve>>();

/** The highest use of memory in a range; null where the range has too many operations to count it in a frame. */
export function peakInRange(operations: Operations, profile: MemoryProfile, range: Range): RangePeak | null {
  const { first } = stageRows(operations, range.firstStage);
  const { end } = stageRows(operations, range.lastStage);
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
