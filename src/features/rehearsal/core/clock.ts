import type { CancelSignal } from '../../../core/errors';
import { operationKind, type Schedule, type Timeline } from '../../../core/schedules/schedule';
import { noTransfers, simulate } from '../../../core/schedules/simulate/simulate';
import type { Durations, Transfers } from '../../../core/schedules/simulate/transfers';

/**
 * Rows of all stages in one order that every dependency allows, each stage's in its own order: as one after the other can run them.
 * @throws ExpectedError `schedule-incomplete`, `schedule-stuck`.
 */
export function oneAfterAnother(schedule: Schedule): Uint32Array {
  const { startMs } = simulate(
    schedule,
    durationsOfRows(schedule, new Float64Array(schedule.kind.length).fill(1)),
    noTransfers(schedule.units.length),
  );
  const rows = Uint32Array.from(schedule.kind.keys());
  // Rows that start together do not wait for each other; of a stage they ascend.
  return rows.sort((a, b) => (startMs[a] ?? 0) - (startMs[b] ?? 0) || a - b);
}

/**
 * Times of rows as durations of passes: a whole backward counts as that of its input.
 * @param rowMs of each row, ms.
 */
function durationsOfRows({ stageOfChunk, units, kind, chunk, unit }: Schedule, rowMs: ArrayLike<number>): Durations {
  const cells = stageOfChunk.length * units.length;
  const durations = {
    forwardMs: new Float64Array(cells),
    backwardInputMs: new Float64Array(cells),
    backwardWeightMs: new Float64Array(cells),
  };
  kind.forEach((what, row) => {
    const cell = (chunk[row] ?? 0) * units.length + (unit[row] ?? 0);
    const column =
      what === operationKind.forward
        ? durations.forwardMs
        : what === operationKind.backwardWeight
          ? durations.backwardWeightMs
          : durations.backwardInputMs;
    column[cell] = rowMs[row] ?? 0;
  });
  return durations;
}

/**
 * Durations of rows on the clock of their schedule: when each would start and end were its stage a machine of its own.
 * @param rowMs of each row, ms. @throws ExpectedError `schedule-stuck`; CancelledError.
 */
export function onClock(
  schedule: Schedule,
  rowMs: ArrayLike<number>,
  transfers: Transfers = noTransfers(schedule.units.length),
  signal?: CancelSignal,
): Timeline {
  return simulate(schedule, durationsOfRows(schedule, rowMs), transfers, signal);
}
