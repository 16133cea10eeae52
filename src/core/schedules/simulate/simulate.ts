import type { Durations, Transfers } from './transfers';
import { throwIfCancelled, type CancelSignal } from '../../errors';
import { requireComplete } from './complete';
import { runAll, deadlockedStages } from './run';
import type { Schedule, Timeline } from '../schedule';
import { deadlockError, type DeadlockedStage } from './deadlock';

/** Durations where backward is not split. */
export function wholeBackward(forwardMs: Float64Array, backwardMs: Float64Array): Durations {
  return { forwardMs, backwardInputMs: backwardMs, backwardWeightMs: new Float64Array(backwardMs.length) };
}

/** No transfer times: stages hand over at once. */
export function noTransfers(units: number): Transfers {
  return { forwardMs: new Float64Array(units), backwardMs: new Float64Array(units), mode: 'edge' };
}

/**
 * Event times of a schedule whose every operation starts as soon as its stage is free and what it needs is ready:
 * - a forward: the same unit's forward on the chunk before and, on its own chunk, the earlier slices of its micro-batch;
 * - a full or input backward: its own forward, the same unit's full or input backward on the next chunk and, on its own chunk, the later
 *   slices' ones;
 * - a weight backward: its own input backward.
 *
 * An overlapped pair starts when both can, and what both send is ready when the pair ends. Linear in the number of operations.
 * @throws ExpectedError `schedule-incomplete` when operations are missing, double or on the wrong stage; `schedule-stuck` when the orders
 * of the stages wait for each other, naming the operation that each stage waits at; CancelledError. RangeError when a column of times is
 * too short.
 */
export function simulate(schedule: Schedule, durations: Durations, transfers: Transfers, signal?: CancelSignal): Timeline {
  requireComplete(schedule);
  throwIfCancelled(signal);
  const run = runAll(schedule, durations, transfers, signal);
  const deadlocked = deadlockedStages(run);
  if (deadlocked.length > 0) throw deadlockError(schedule, deadlocked);
  const { startMs, endMs, arrivalMs, freeMs } = run;
  const makespanMs = freeMs.reduce((latest, ms) => Math.max(latest, ms), 0);
  return { ...schedule, startMs, endMs, arrivalMs, makespanMs, ...(run.copies === null ? {} : { copyTimes: run.copies.times }) };
}

/**
 * Where each stage waits in a deadlock, and what for; empty when the schedule can run.
 * @throws ExpectedError `schedule-incomplete` as `simulate`.
 */
export function deadlockedAt(schedule: Schedule): DeadlockedStage[] {
  requireComplete(schedule);
  const none = new Float64Array(schedule.stageOfChunk.length * schedule.units.length);
  const durations = { forwardMs: none, backwardInputMs: none, backwardWeightMs: none };
  return deadlockedStages(runAll(schedule, durations, noTransfers(schedule.units.length)));
}
