import fc from 'fast-check';
import { generateSchedule, toScheduleProblem } from '../../../src/core/schedules/registry';
import type { Timeline } from '../../../src/core/schedules/schedule';
import { plannedSchedules } from '../../../src/core/domain/schedule-names';
import { noTransfers, simulate } from '../../../src/core/schedules/simulate/simulate';

/** A simulated timeline of equal chunks: forward of a unit takes its tokens in ms, whole backward twice that. */
export function timelineOf(name: string, chunks: readonly (readonly number[])[], stages: number, chunksPerStage = 1): Timeline {
  const scheme = chunks.map((tokens) => ({ batch: 1, tokens }));
  const schedule = generateSchedule(name, toScheduleProblem(scheme, stages, chunksPerStage));
  const forwardMs = Float64Array.from(
    { length: schedule.stageOfChunk.length * schedule.units.length },
    (_, cell) => schedule.units[cell % schedule.units.length]!.tokens,
  );
  const durations = { forwardMs, backwardInputMs: forwardMs, backwardWeightMs: forwardMs };
  return simulate(schedule, durations, noTransfers(schedule.units.length));
}

const slicedTimeline = fc
  .record({
    name: fc.constantFrom(...plannedSchedules, 'Seq1F1B'),
    chunks: fc.array(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 }),
    stages: fc.integer({ min: 1, max: 6 }),
  })
  .map(({ name, chunks, stages }) => timelineOf(name, chunks, stages));

const chunkedTimeline = fc
  .record({
    name: fc.constantFrom('Interleaved1F1B', 'LoopedBFS', 'InterleavedZeroBubble', 'ZBVZeroBubble', 'DualPipeV'),
    tokens: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 3 }),
    stages: fc.integer({ min: 2, max: 3 }),
  })
  .map(({ name, tokens, stages }) =>
    timelineOf(
      name,
      Array.from({ length: 2 * stages }, (_, index) => [tokens[index % tokens.length]!]),
      stages,
      2,
    ),
  );

/** Any small timeline: slices, several chunks on a stage, split and overlapped backward. */
export const anyTimeline = fc.oneof(slicedTimeline, chunkedTimeline);
