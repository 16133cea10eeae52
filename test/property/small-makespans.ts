import { generateSchedule, toScheduleProblem, scheduleKind } from '../../src/core/schedules/registry';
import { simulate } from '../../src/core/schedules/simulate/simulate';
import type { Schedule } from '../../src/core/schedules/schedule';
import { passGraph } from '../../src/core/slicing/makespan/pass-graph';
import type { MakespanProblem } from '../../src/core/slicing/makespan/problem';
import type { ScheduleName } from '../../src/core/domain/schedule-names';
import { drawn } from './random-makespans';

/** A problem small enough to try every cut, with the simulation of any. */
export interface SmallProblem {
  readonly name: string;
  readonly problem: MakespanProblem;
  readonly simulatedMs: (lengths: readonly number[]) => number;
  /** All ways to cut a sequence. */
  readonly cuts: readonly (readonly number[])[];
}

/**
 * Up to 4 stages, 4 micro-batches and `mostUnits` units. A third has times drawn for every slice without any order, the others times that
 * grow with length and context as attention's do; stages differ or not, sends take time or not.
 */
export function smallProblem(kind: ScheduleName, seed: number, mostUnits = 12): SmallProblem {
  const next = drawn(seed);
  next();
  const int = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1));
  const [stages, microBatches, units] = [int(1, 4), int(1, 4), int(1, mostUnits)];
  const several = scheduleKind(kind).chunksPerStage === 'several';
  const chunksPerStage = several ? int(2, 3) : 1;
  const unit = 4;
  const tokens = units * unit - int(0, 3);
  const style = int(0, 2);
  const chunkCount = stages * chunksPerStage;
  const drawnChunks = Array.from({ length: chunkCount }, () => ({
    fixed: 5 * next(),
    perToken: next(),
    perPair: 0.1 * next(),
    salt: int(0, 1e9),
  }));
  const alike = next() < 0.4;
  const sendPerToken = next() < 0.5 ? 0 : 0.05;
  const delayed = next() < 0.5 ? 'all' : 'fill-and-drain';
  /** Of forward (0), backward (1), input (2) and weight gradients (3). */
  const passMs = (chunk: number, pass: number, length: number, context: number): number => {
    const own = drawnChunks[alike ? 0 : chunk]!;
    if (style === 0) return scrambled(own.salt ^ (length * 0x85ebca6b) ^ (context * 0xc2b2ae35) ^ (pass * 77777));
    const forward = own.fixed + own.perToken * length + own.perPair * length * (context + length / 2);
    return [1, 2.3, 1.2, 1][pass]! * forward + (style === 2 && pass > 0 ? 0.02 * length * context : 0);
  };
  const sendMs = (length: number): number => (sendPerToken === 0 ? 0 : 0.3 + sendPerToken * length);
  const times = 4 * chunkCount + 1;
  const scheduleOf = (lengths: readonly number[]): Schedule =>
    generateSchedule(
      kind,
      toScheduleProblem(
        Array.from({ length: microBatches }, () => ({ batch: 1, tokens: lengths })),
        stages,
        chunksPerStage,
      ),
    );
  const chunks = Array.from({ length: chunkCount }, (_, chunk) => ({
    forward: 4 * chunk,
    backward: 4 * chunk + 1,
    backwardInput: 4 * chunk + 2,
    backwardWeight: 4 * chunk + 3,
    sendForward: 4 * chunkCount,
    sendBackward: 4 * chunkCount,
  }));
  const runs = (slices: number): boolean =>
    scheduleKind(kind).unmet(
      toScheduleProblem(
        Array.from({ length: microBatches }, () => ({ batch: 1, tokens: Array.from({ length: slices }, () => 1) })),
        stages,
        chunksPerStage,
      ),
    ) === null;
  return {
    name: `${kind}, ${stages} stages of ${chunksPerStage}, ${microBatches} micro-batches, ${units} units, seed ${seed}`,
    problem: {
      tokens,
      unit,
      mostSlices: units,
      times,
      writeTimes: (length, context, out) => {
        for (let at = 0; at < 4 * chunkCount; at++) out[at] = passMs(at >> 2, at & 3, length, context);
        out[times - 1] = sendMs(length);
      },
      buildGraph: (slices) =>
        runs(slices) ? passGraph(scheduleOf(Array.from({ length: slices }, () => 1)), slices, times, chunks, delayed) : null,
    },
    simulatedMs: (lengths) => {
      const schedule = scheduleOf(lengths);
      const column = (pass: number): Float64Array =>
        Float64Array.from({ length: chunkCount * schedule.units.length }, (_, cell) => {
          const { tokens: length, context } = schedule.units[cell % schedule.units.length]!;
          return passMs(Math.floor(cell / schedule.units.length), pass, length, context);
        });
      const split = scheduleKind(kind).splitsBackward;
      const sends = Float64Array.from(schedule.units, ({ tokens: length }) => sendMs(length));
      return simulate(
        schedule,
        {
          forwardMs: column(0),
          backwardInputMs: column(split ? 2 : 1),
          backwardWeightMs: split ? column(3) : new Float64Array(chunkCount * schedule.units.length),
        },
        { forwardMs: sends, backwardMs: sends, mode: delayed === 'all' ? 'edge' : 'fill-and-drain' },
      ).makespanMs;
    },
    cuts: everyCut(units)
      .filter((cut) => runs(cut.length))
      .map((cut) => cut.map((length, index) => length * unit - (index === cut.length - 1 ? units * unit - tokens : 0))),
  };
}

function scrambled(value: number): number {
  let hash = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d) >>> 0;
  hash = (hash ^ (hash >>> 12)) >>> 0;
  return (hash % 997) / 10;
}

function everyCut(units: number): number[][] {
  return Array.from({ length: 2 ** (units - 1) }, (_, mask) => {
    const cut: number[] = [];
    let length = 1;
    for (let unit = 0; unit < units - 1; unit++, length++)
      if (((mask >> unit) & 1) === 1) {
        cut.push(length);
        length = 0;
      }
    return [...cut, length];
  });
}
