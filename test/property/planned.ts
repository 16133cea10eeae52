import type { PassMemory, PassTimes, ScheduleProblem } from '../../src/core/schedules/kind';
import { busyTimes } from '../../src/core/schedules/simulate/idle';
import { generateSchedule, toScheduleProblem, scheduleKind } from '../../src/core/schedules/registry';
import { operationKind, type Schedule, type Timeline } from '../../src/core/schedules/schedule';
import { simulate } from '../../src/core/schedules/simulate/simulate';

/** Memory of a micro-batch in the reference rows: 34 from forward on, 32 of it until the weight gradient. */
export function rowMemory(limitInForwards: number): PassMemory {
  return { forward: 34, backwardInput: -2, backwardWeight: -32, limit: 34 * limitInForwards };
}

export function equalTimes(stages: number, forwardMs: number, inputMs: number, weightMs: number, sendMs: number): PassTimes {
  const onEach = (ms: number): Float64Array => new Float64Array(stages).fill(ms);
  return { forwardMs: onEach(forwardMs), backwardInputMs: onEach(inputMs), backwardWeightMs: onEach(weightMs), sendMs };
}

export function wholeProblem(name: string, microBatches: number, times: PassTimes, memory?: PassMemory): ScheduleProblem {
  const chunks = scheduleKind(name).chunksPerStage;
  const scheme = Array.from({ length: microBatches }, () => ({ batch: 1, tokens: [64] }));
  return toScheduleProblem(scheme, times.forwardMs.length, chunks === 'several' ? 2 : chunks, times, memory);
}

/** The timeline of a schedule made for a problem, in that problem's times: each chunk takes its share of its stage's. */
export function timelineOf(name: string, problem: ScheduleProblem): Timeline {
  return simulateWith(generateSchedule(name, problem), problem);
}

export function simulateWith(schedule: Schedule, { times, units, stages }: ScheduleProblem): Timeline {
  const chunks = schedule.stageOfChunk.length;
  const ofUnits = (perStage: Float64Array): Float64Array =>
    Float64Array.from({ length: chunks * units.length }, (_, cell) => {
      const stage = schedule.stageOfChunk[Math.floor(cell / units.length)]!;
      return perStage[stage]! / (chunks / stages);
    });
  const hop = new Float64Array(units.length).fill(times.sendMs);
  const durations = {
    forwardMs: ofUnits(times.forwardMs),
    backwardInputMs: ofUnits(times.backwardInputMs),
    backwardWeightMs: ofUnits(times.backwardWeightMs),
  };
  return simulate(schedule, durations, { forwardMs: hop, backwardMs: hop, mode: 'edge' });
}

export function longestSpanMs(timeline: Timeline): number {
  return Math.max(...busyTimes(timeline).spanMs);
}

/** Most that each stage holds at any moment: a pass takes when it starts, and gives back when it ends. */
export function peaks({ stages, rowStart, kind, stageOfChunk }: Schedule, memory: PassMemory): number[] {
  const chunks = stageOfChunk.length / stages;
  return Array.from({ length: stages }, (_, stage) => {
    let held = 0;
    let peak = 0;
    for (let row = rowStart[stage]!; row < rowStart[stage + 1]!; row++) {
      if (kind[row] === operationKind.forward) held += memory.forward / chunks;
      else if (kind[row] === operationKind.backwardInput) held += memory.backwardInput / chunks;
      else held += (kind[row] === operationKind.backwardWeight ? 0 : memory.backwardInput / chunks) + memory.backwardWeight / chunks;
      peak = Math.max(peak, held);
    }
    return peak;
  });
}
