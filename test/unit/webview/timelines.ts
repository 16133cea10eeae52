import fc from 'fast-check';
import { generateSchedule, problemOf } from '../../../src/core/schedule/registry';
import { plannedSchedules, type Timeline } from '../../../src/core/schedule/schedule';
import { noTransfers, simulate, wholeBackward } from '../../../src/core/schedule/simulate';

/** A simulated timeline of equal stages: forward of a unit takes its tokens in ms, backward twice that. */
export function timelineOf(name: Timeline['name'], chunks: readonly (readonly number[])[], stages: number): Timeline {
  const schedule = generateSchedule(
    name,
    problemOf(
      chunks.map((tokens) => ({ batch: 1, tokens })),
      stages,
    ),
  );
  const forwardMs = Float64Array.from(
    { length: stages * schedule.units.length },
    (_, cell) => schedule.units[cell % schedule.units.length]!.tokens,
  );
  return simulate(
    schedule,
    wholeBackward(
      forwardMs,
      forwardMs.map((ms) => 2 * ms),
    ),
    noTransfers(schedule.units.length),
  );
}

/** Any small timeline. */
export const anyTimeline = fc
  .record({
    name: fc.constantFrom(...plannedSchedules),
    chunks: fc.array(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 }),
    stages: fc.integer({ min: 1, max: 6 }),
  })
  .map(({ name, chunks, stages }) => timelineOf(name, chunks, stages));
