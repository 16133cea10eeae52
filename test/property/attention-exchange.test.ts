import assert from 'node:assert/strict';
import fc from 'fast-check';
import { evenedOut, passesAtOneTime } from '../../src/core/schedules/attention-exchange';
import { generateSchedule, toScheduleProblem } from '../../src/core/schedules/registry';
import { operationKind, type Schedule } from '../../src/core/schedules/schedule';
import { noTransfers, simulate, wholeBackward } from '../../src/core/schedules/simulate/simulate';
import { cases } from './cases';

const freeExchange = (): number => 0;

const seed = 20261123;

/** p stages, m sequences of n equal slices, v chunks a stage; what each slice of context takes, and what the rest of a slice does, ms. */
const drawn = fc.record({
  p: fc.integer({ min: 1, max: 6 }),
  m: fc.integer({ min: 1, max: 4 }),
  n: fc.integer({ min: 1, max: 12 }),
  v: fc.integer({ min: 1, max: 3 }),
  perContext: fc.integer({ min: 0, max: 9 }),
  rest: fc.integer({ min: 1, max: 20 }),
});

interface Case {
  readonly schedule: Schedule;
  readonly movable: Float64Array;
  readonly rest: number;
}

function caseOf({ p, m, n, v, perContext, rest }: typeof drawn extends fc.Arbitrary<infer T> ? T : never): Case {
  const scheme = Array.from({ length: m }, () => ({ batch: 1, tokens: Array<number>(n).fill(8) }));
  const schedule = generateSchedule(v === 1 ? 'SlimPipe' : 'SlimPipe-I', toScheduleProblem(scheme, p, v));
  const { units } = schedule;
  const movable = Float64Array.from({ length: p * v * units.length }, (_, cell) => perContext * (units[cell % units.length]?.slice ?? 0));
  return { schedule, movable, rest };
}

function sumOf(values: Iterable<number>): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}

/** When the last pass ends, with as long a backward as `share` forwards. */
function makespanOf({ schedule, rest }: Case, forward: Float64Array, backward: Float64Array): number {
  const durations = wholeBackward(
    forward.map((ms) => ms + rest),
    backward.map((ms) => 2 * (ms + rest)),
  );
  return simulate(schedule, durations, noTransfers(schedule.units.length)).makespanMs;
}

/** The same as `passesAtOneTime` by walking: at each tick every stage that has its turn runs its next pass of the kind. */
function walked(schedule: Schedule, pass: 'forward' | 'backward'): string[] {
  const { stages, rowStart, kind, chunk, unit, units } = schedule;
  const wanted = pass === 'forward' ? operationKind.forward : operationKind.backward;
  const queues = Array.from({ length: stages }, (_, stage) => {
    const cells: number[] = [];
    for (let row = rowStart[stage]!; row < rowStart[stage + 1]!; row++)
      if (kind[row] === wanted) cells.push(chunk[row]! * units.length + unit[row]!);
    return cells;
  });
  // Units reach a stage one tick after the stage before it had them.
  const turn = pass === 'forward' ? queues : queues.toReversed();
  const ticks: string[] = [];
  for (let tick = 0; turn.some((queue) => queue.length > 0); tick++)
    ticks.push(
      turn
        .slice(0, tick + 1)
        .flatMap((queue) => queue.splice(0, 1))
        .sort((a, b) => a - b)
        .join(),
    );
  return ticks;
}

describe('attention exchanged between stages', () => {
  it('is neither lost nor made, and no pass takes longer than the slowest of its time did', () => {
    fc.assert(
      fc.property(drawn, (sizes) => {
        const { schedule, movable } = caseOf(sizes);
        for (const pass of ['forward', 'backward'] as const) {
          const evened = evenedOut(schedule, movable, freeExchange, pass);
          assert.ok(Math.abs(sumOf(evened) - sumOf(movable)) <= 1e-9 * (1 + sumOf(movable)));
          for (const cells of passesAtOneTime(schedule, pass)) {
            const most = Math.max(...cells.map((cell) => movable[cell]!));
            for (const cell of cells) assert.ok(evened[cell]! <= most * (1 + 1e-12));
            assert.ok(Math.abs(sumOf(cells.map((cell) => evened[cell]! - movable[cell]!))) <= 1e-9 * (1 + most));
          }
        }
      }),
      { seed, numRuns: cases(100, 2000) },
    );
  });

  it('is shared by the passes that a walk in lockstep finds at one time', () => {
    fc.assert(
      fc.property(drawn, (sizes) => {
        const { schedule } = caseOf(sizes);
        for (const pass of ['forward', 'backward'] as const) {
          const found = passesAtOneTime(schedule, pass).map((cells) => cells.toSorted((a, b) => a - b).join());
          assert.deepEqual(found, walked(schedule, pass));
        }
      }),
      { seed, numRuns: cases(60, 1000) },
    );
  });

  it('never makes a sequence of slices that grow take longer, where sends are free', () => {
    fc.assert(
      fc.property(drawn, (sizes) => {
        const one = caseOf({ ...sizes, m: 1, v: 1 });
        const forward = evenedOut(one.schedule, one.movable, freeExchange, 'forward');
        const backward = evenedOut(one.schedule, one.movable, freeExchange, 'backward');
        const before = makespanOf(one, one.movable, one.movable);
        const after = makespanOf(one, forward, backward);
        assert.ok(after <= before * (1 + 1e-9), `${after} with, ${before} without`);
      }),
      { seed, numRuns: cases(100, 2000) },
    );
  });

  it('never makes a batch take longer either, where sends are free', () => {
    fc.assert(
      fc.property(drawn, (sizes) => {
        const one = caseOf(sizes);
        const forward = evenedOut(one.schedule, one.movable, freeExchange, 'forward');
        const backward = evenedOut(one.schedule, one.movable, freeExchange, 'backward');
        const before = makespanOf(one, one.movable, one.movable);
        const after = makespanOf(one, forward, backward);
        assert.ok(after <= before * (1 + 1e-9), `${after} with, ${before} without`);
      }),
      { seed, numRuns: cases(200, 2000) },
    );
  });

  it('is left where it is where the exchange takes longer than it saves', () => {
    const one = caseOf({ p: 4, m: 2, n: 8, v: 1, perContext: 3, rest: 5 });
    assert.deepEqual(
      evenedOut(one.schedule, one.movable, () => 1e6, 'forward'),
      one.movable,
    );
  });
});
