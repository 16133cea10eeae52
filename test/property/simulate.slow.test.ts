import assert from 'node:assert/strict';
import fc from 'fast-check';
import { noTransfers, simulate, deadlockedAt } from '../../src/core/schedules/simulate/simulate';
import { cases } from './cases';
import { anyCase, timesByDefinition } from './random-schedule';

const seed = 20261122;

describe('the simulator', () => {
  it('finds the times that the rules define, for any order, chunks, slices, split and overlapped backward, latency and links', () => {
    fc.assert(
      fc.property(anyCase, (random) => {
        const { schedule, durations, transfers } = random;
        const timeline = simulate(schedule, durations, transfers);
        const expected = timesByDefinition(random);
        assert.deepEqual(Array.from(timeline.startMs), expected.startMs);
        assert.deepEqual(Array.from(timeline.endMs), expected.endMs);
        assert.deepEqual(Array.from(timeline.arrivalMs ?? timeline.endMs), expected.arrivalMs);
        assert.equal(timeline.makespanMs, Math.max(...expected.endMs));
        assert.deepEqual(deadlockedAt(schedule), []);
      }),
      { seed, numRuns: cases(100, 2000) },
    );
  });

  it('refuses a missing, a double and a misplaced operation', () => {
    fc.assert(
      fc.property(anyCase, fc.nat(), ({ schedule, durations, transfers }, drawn) => {
        const row = drawn % schedule.kind.length;
        const other = (row + 1) % schedule.kind.length;
        fc.pre(schedule.overlapsNext === null && schedule.kind.length > 2);
        const double = { ...schedule, kind: schedule.kind.slice(), chunk: schedule.chunk.slice(), unit: schedule.unit.slice() };
        for (const column of [double.kind, double.chunk, double.unit]) column[row] = column[other]!;
        assert.throws(() => simulate(double, durations, transfers), {
          code: 'schedule-incomplete',
          message: /(?:a second time|on another stage than \d+); .*no \w+.* of .* on chunk \d/,
        });
      }),
      { seed, numRuns: cases(40, 500) },
    );
  });

  it('refuses an order that cannot run, naming for each stage that is left its next operation and the one that this waits for', () => {
    const tried = cases(60, 1000);
    let refused = 0;
    fc.assert(
      fc.property(anyCase, fc.nat(), ({ schedule, durations }, drawn) => {
        fc.pre(schedule.overlapsNext === null);
        const stage = drawn % schedule.stages;
        const [from, to] = [schedule.rowStart[stage]!, schedule.rowStart[stage + 1]!];
        const turned = { ...schedule, kind: schedule.kind.slice(), chunk: schedule.chunk.slice(), unit: schedule.unit.slice() };
        for (const column of [turned.kind, turned.chunk, turned.unit]) column.subarray(from, to).reverse();
        const deadlocked = deadlockedAt(turned);
        const run = (): unknown => simulate(turned, durations, noTransfers(schedule.units.length));
        if (deadlocked.length === 0) {
          run();
          return;
        }
        refused++;
        assert.throws(run, { code: 'schedule-stuck' });
        const expected = new Map(deadlocked.map((each) => [each.stage, each.row]));
        for (const { row, waitsFor } of deadlocked) {
          const place = schedule.stageOfChunk[turned.chunk[waitsFor]!]!;
          // What is waited for has not run: its stage has not got past it.
          assert.ok(waitsFor >= expected.get(place)!, `row ${row} waits for row ${waitsFor}, which has run`);
        }
      }),
      { seed, numRuns: tried },
    );
    assert.ok(refused > tried / 4, `${refused} of ${tried} refused`);
  });
});
