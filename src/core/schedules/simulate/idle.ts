import { idleGaps, idleCauses, linkWait, roundingShare, type IdleCause, type IdleTimes } from './gaps';
import { indexParts, type Parts } from '../parts';
import type { Timeline } from '../schedule';
import { simulate } from './simulate';
import type { Durations, Transfers } from './transfers';

/** How busy the stages are. */
interface BusyTimes {
  /** Per stage, ms. */
  readonly busyMs: Float64Array;
  /** From the first start to the last end of each stage, ms. */
  readonly spanMs: Float64Array;
  /** 1 - mean busy time / longest span: with equal stages (S - m (F + B + W)) / S. 0 for an empty timeline. */
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
  const bubbleRate = longest > 0 ? 1 - mean / longest : 0;
  return { busyMs, spanMs, bubbleRate: bubbleRate > roundingShare ? bubbleRate : 0 };
}

/**
 * Shares out the idle time of every stage. Each gap is cut in three:
 * - `link`: its end, from when the operation that it waited for was done: what that hands on waits for the link and is sent;
 * - `imbalance`: of the rest, by how much it is longer than the rest of the gap at the same place would be if every pass took its mean over
 *   all chunks (the same schedule and transfers, simulated);
 * - its own cause: what is left.
 *
 * @param durations and `transfers` that the timeline was simulated with.
 */
export function idleTimes(timeline: Timeline, durations: Durations, transfers: Transfers): IdleTimes {
  const parts = indexParts(timeline);
  const even = evened(timeline, durations);
  const balanced = even === null ? null : waitsByRow(simulate(timeline, even, transfers), parts);
  const times = Object.fromEntries(idleCauses.map((cause) => [cause, new Float64Array(timeline.stages)])) as unknown as IdleTimes;
  const { stages, kind } = timeline;
  for (let stage = 0; stage < stages; stage++)
    for (const { startMs, endMs, cause, row } of idleGaps(timeline, stage, parts)) {
      const waitMs = endMs - startMs;
      const linkMs = linkWait(timeline, parts, { row, startMs });
      const rest = waitMs - linkMs;
      const evenRest = balanced === null ? rest : (balanced[row ?? kind.length + stage] ?? 0);
      const imbalanceMs = Math.max(0, rest - evenRest);
      add(times.link, stage, linkMs);
      add(times.imbalance, stage, imbalanceMs);
      add(times[cause], stage, rest - imbalanceMs);
    }
  return times;
}

/** Causes of idle time that lie outside a stage's own span, and the parts cut out of them. */
const outsideSpan = ['warm-up', 'drain', 'imbalance', 'link'] as const;

/**
 * Idle times of a step in which each stage begins the next one while others still end this one: shorter by `overlappedMs` on every stage,
 * its warm-up and drain first.
 *
 * @param overlappedMs no more than any stage idles before its first and after its last operation together.
 */
export function withinStep(idle: IdleTimes, overlappedMs: number): IdleTimes {
  if (overlappedMs <= 0) return idle;
  const left = idle.drain.map(() => overlappedMs);
  const shortened = outsideSpan.map((cause): readonly [IdleCause, Float64Array] => {
    const kept = idle[cause].map((ms, stage) => Math.max(0, ms - (left[stage] ?? 0)));
    idle[cause].forEach((ms, stage) => add(left, stage, (kept[stage] ?? 0) - ms));
    return [cause, kept];
  });
  return { ...idle, ...Object.fromEntries(shortened) };
}

function add(column: Float64Array, index: number, ms: number): void {
  column[index] = (column[index] ?? 0) + ms;
}

/** The gap before each row without its link part, and after all rows the drain of each stage, ms. */
function waitsByRow(timeline: Timeline, parts: Parts): Float64Array {
  const { stages, kind } = timeline;
  const waits = new Float64Array(kind.length + stages);
  for (let stage = 0; stage < stages; stage++)
    for (const { startMs, endMs, row } of idleGaps(timeline, stage, parts))
      waits[row ?? kind.length + stage] = endMs - startMs - linkWait(timeline, parts, { row, startMs });
  return waits;
}

/** Every pass as long as its mean over the chunks; null where that changes nothing. */
function evened({ stageOfChunk, units }: Timeline, { forwardMs, backwardInputMs, backwardWeightMs }: Durations): Durations | null {
  const cells = stageOfChunk.length * units.length;
  const columns = [forwardMs, backwardInputMs, backwardWeightMs].map((column) => column.subarray(0, cells));
  if (columns.every((column) => column.every((ms, cell) => ms === column[cell % units.length]))) return null;
  const mean = (column: Float64Array): Float64Array => {
    const sums = new Float64Array(units.length);
    column.forEach((ms, cell) => add(sums, cell % units.length, ms));
    return column.map((_, cell) => (sums[cell % units.length] ?? 0) / stageOfChunk.length);
  };
  return {
    forwardMs: mean(forwardMs.subarray(0, cells)),
    backwardInputMs: mean(backwardInputMs.subarray(0, cells)),
    backwardWeightMs: mean(backwardWeightMs.subarray(0, cells)),
  };
}
