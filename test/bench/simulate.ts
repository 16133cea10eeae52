// Prints how many operations a second the simulator runs: part of `npm run bench`. The same run also times the plainest program that
// computes the same event times.
import { generateSchedule, toScheduleProblem } from '../../src/core/schedules/registry';
import { operationKind, type Schedule } from '../../src/core/schedules/schedule';
import { noTransfers, simulate } from '../../src/core/schedules/simulate/simulate';
import type { Durations, Transfers } from '../../src/core/schedules/simulate/transfers';

const goalPerSecond = 10e6;
/** Operations of the schedules that are timed. */
const sizes = [1e5, 4e5, 1e6, 4e6];
const rounds = 5;

interface Case {
  readonly name: string;
  readonly make: (operations: number) => Schedule;
  readonly transfers: (units: number) => Transfers;
}

const overlapped = (units: number): Transfers => ({
  forwardMs: new Float64Array(units).fill(0.1),
  backwardMs: new Float64Array(units).fill(0.1),
  link: { forwardMs: new Float64Array(units).fill(0.2), backwardMs: new Float64Array(units).fill(0.2) },
  mode: 'edge',
});

function whole(microBatches: number): { batch: number; tokens: number[] }[] {
  return Array.from({ length: microBatches }, () => ({ batch: 1, tokens: [64] }));
}

const cases: readonly Case[] = [
  {
    name: '1F1B, 8 stages',
    make: (operations) => generateSchedule('1F1B', toScheduleProblem(whole(operations / 16), 8)),
    transfers: noTransfers,
  },
  {
    name: '1F1B, 64 stages, links that queue',
    make: (operations) => generateSchedule('1F1B', toScheduleProblem(whole(Math.ceil(operations / 128)), 64)),
    transfers: overlapped,
  },
  {
    name: 'ZBVZeroBubble, 8 stages',
    make: (operations) => generateSchedule('ZBVZeroBubble', toScheduleProblem(whole(Math.ceil(operations / 48)), 8, 2)),
    transfers: noTransfers,
  },
  {
    name: 'Seq1F1B, 16 stages, 8 slices a sequence',
    make: (operations) => {
      const sequences = Math.ceil(operations / 32 / 8);
      return generateSchedule(
        'Seq1F1B',
        toScheduleProblem(
          Array.from({ length: sequences }, () => ({ batch: 1, tokens: Array<number>(8).fill(64) })),
          16,
        ),
      );
    },
    transfers: noTransfers,
  },
];

/** Times that differ from unit to unit, so that no stage runs in step with another by chance. */
function durationsOf({ stageOfChunk, units }: Schedule): Durations {
  const column = (ms: number): Float64Array =>
    Float64Array.from({ length: stageOfChunk.length * units.length }, (_, cell) => ms * (1 + ((cell * 7919) % 97) / 970));
  return { forwardMs: column(1), backwardInputMs: column(1), backwardWeightMs: column(0.9) };
}

function bestMs(work: () => void, times: number): number {
  let best = Infinity;
  for (let round = 0; round < times; round++) {
    const began = performance.now();
    work();
    best = Math.min(best, performance.now() - began);
  }
  return best;
}

/**
 * The plainest way to the same makespan where transfers take no time: go round the stages, look results up by name, until no stage can go
 * on.
 */
function naiveMakespan({ stages, stageOfChunk, units, rowStart, kind, chunk, unit }: Schedule, durations: Durations): number {
  const ends = new Map<string, number>();
  const next = Array.from(rowStart.subarray(0, stages));
  const free = Array<number>(stages).fill(0);
  const needs = (row: number): string[] => {
    const [c, u] = [chunk[row] ?? 0, unit[row] ?? 0];
    const sameMicroBatch = (other: number): boolean => units[other]?.microBatch === units[u]?.microBatch;
    if (kind[row] === operationKind.forward)
      return [...(c > 0 ? [`F${c - 1},${u}`] : []), ...(sameMicroBatch(u - 1) ? [`F${c},${u - 1}`] : [])];
    if (kind[row] === operationKind.backwardWeight) return [`B${c},${u}`];
    return [`F${c},${u}`, ...(c + 1 < stageOfChunk.length ? [`B${c + 1},${u}`] : []), ...(sameMicroBatch(u + 1) ? [`B${c},${u + 1}`] : [])];
  };
  for (let went = true; went;) {
    went = false;
    for (let stage = 0; stage < stages; stage++) {
      for (let row = next[stage] ?? 0; row < (rowStart[stage + 1] ?? 0); row++) {
        const times = needs(row).map((name) => ends.get(name));
        if (times.includes(undefined)) break;
        const cell = (chunk[row] ?? 0) * units.length + (unit[row] ?? 0);
        const [f, b, w] = [durations.forwardMs[cell] ?? 0, durations.backwardInputMs[cell] ?? 0, durations.backwardWeightMs[cell] ?? 0];
        const busyMs = [f, b + w, b, w][kind[row] ?? 0] ?? 0;
        free[stage] = Math.max(free[stage] ?? 0, ...times.map((ms) => ms ?? 0)) + busyMs;
        if (kind[row] !== operationKind.backwardWeight)
          ends.set(`${kind[row] === operationKind.forward ? 'F' : 'B'}${chunk[row] ?? 0},${unit[row] ?? 0}`, free[stage] ?? 0);
        next[stage] = row + 1;
        went = true;
      }
    }
  }
  return Math.max(...free);
}

function printCase({ name, make, transfers }: Case): void {
  for (const size of sizes) {
    const schedule = make(size);
    const durations = durationsOf(schedule);
    const times = transfers(schedule.units.length);
    const operations = schedule.kind.length;
    simulate(schedule, durations, times);
    const ms = bestMs(() => simulate(schedule, durations, times), rounds);
    const perSecond = operations / ms / 1e3;
    let compared = '';
    if (size === sizes[0]) {
      const naiveMs = bestMs(() => naiveMakespan(schedule, durations), 2);
      compared = `; the plain program ${(operations / naiveMs / 1e3).toFixed(2)} million a second, ${(naiveMs / ms).toFixed(0)} times as long`;
    }
    console.log(
      `${name}: ${operations} operations in ${ms.toFixed(1)} ms, ${perSecond.toFixed(1)} million a second (goal: ${goalPerSecond / 1e6})${compared}`,
    );
  }
}

/** Lets the simulator be compiled, which the first few runs of a program would pay for. */
function warmUp(): void {
  for (const { make, transfers } of cases) {
    const schedule = make(1e4);
    const durations = durationsOf(schedule);
    for (let run = 0; run < 30; run++) simulate(schedule, durations, transfers(schedule.units.length));
  }
}

warmUp();
for (const each of cases) printCase(each);
