import assert from 'node:assert/strict';
import { maximumUnitsInFlight } from '../../../../src/core/memory-model/curve';
import { timedCopies } from '../../../../src/core/schedules/activation-copies';
import { generateSchedule, toScheduleProblem } from '../../../../src/core/schedules/registry';
import { operationKind, type Schedule } from '../../../../src/core/schedules/schedule';
import { deadlockedAt, noTransfers, simulate, wholeBackward } from '../../../../src/core/schedules/simulate/simulate';

function made(name: string, stages: number, microBatches: number): Schedule {
  const scheme = Array.from({ length: microBatches }, () => ({ batch: 1, tokens: [1] }));
  return generateSchedule(name, toScheduleProblem(scheme, stages));
}

/** F = 1, B = 2, and copies of `ms` each. */
function timed(schedule: Schedule, ms: number) {
  const cells = schedule.stageOfChunk.length * schedule.units.length;
  const copyMs = new Float64Array(schedule.copies?.before.length ?? 0).fill(ms);
  const durations = wholeBackward(new Float64Array(cells).fill(1), new Float64Array(cells).fill(2));
  return simulate(schedule, durations, { ...noTransfers(schedule.units.length), copyMs });
}

const shapes = [2, 3, 4, 5, 7, 8, 16].flatMap((stages) => [1, 3, stages, 2 * stages + 1, 64].map((microBatches) => [stages, microBatches]));

/** Where each micro-batch of each stage is, by time: [stage, change] in order. */
function moves(schedule: Schedule, copyMs: number): { readonly at: number; readonly stage: number; readonly change: number }[] {
  const { startMs, endMs, kind, rowStart, copies, stages } = timed(schedule, copyMs);
  const all: { at: number; stage: number; change: number }[] = [];
  for (let stage = 0; stage < stages; stage++)
    for (let row = rowStart[stage]!; row < rowStart[stage + 1]!; row++)
      if (kind[row] === operationKind.forward) all.push({ at: startMs[row]!, stage, change: 1 });
      else all.push({ at: endMs[row]!, stage, change: -1 });
  for (let stage = 0; stage < stages; stage++)
    for (let copy = copies!.start[stage]!; copy < copies!.start[stage + 1]!; copy++) {
      // under way it is on both: it counts from its earliest start, and until a row waited for it; what leaves waits for
      // what comes back for the next row
      const isBack = copies!.back[copy] === 1;
      const [from, to] = isBack ? [copies!.to[stage]!, stage] : [stage, copies!.to[stage]!];
      const after = copies!.after[copy]!;
      all.push({ at: isBack ? endMs[after]! : startMs[after + 1]!, stage: to, change: 1 });
      all.push({ at: startMs[copies!.before[copy]!]!, stage: from, change: -1 });
    }
  return all.sort((a, b) => a.at - b.at || a.change - b.change);
}

describe('BPipe', () => {
  it('runs in the order of 1F1B and never deadlocks', () => {
    for (const [p, m] of shapes) {
      const [own, plain] = [made('BPipe', p!, m!), made('1F1B', p!, m!)];
      assert.deepEqual([own.kind, own.unit, own.rowStart], [plain.kind, plain.unit, plain.rowStart]);
      assert.deepEqual(deadlockedAt(own), []);
    }
  });

  // ICML 2023, as USENIX ATC'25 "Obscura" 9.3 has it: ceil((p + 2) / 2)
  it('holds ceil((p + 2) / 2) micro-batches on every stage at most, where 1F1B holds p', () => {
    for (const [p, m] of shapes) {
      const schedule = made('BPipe', p!, m!);
      const held = Array.from({ length: p! }, (_, stage) => maximumUnitsInFlight(schedule, stage));
      const limit = Math.ceil((p! + 2) / 2);
      assert.ok(Math.max(...held) <= limit, `${p} stages, ${m} micro-batches: ${held.join(' ')}`);
      if (m! >= p! && p! >= 4) assert.equal(Math.max(...held), limit);
    }
  });

  it('holds no more at any time either, copies under way counted on both stages, however long they take', () => {
    for (const [p, m] of shapes.filter(([p]) => p! <= 8))
      for (const copyMs of [0, 0.5, 3]) {
        const held = new Array<number>(p!).fill(0);
        for (const { stage, change } of moves(made('BPipe', p!, m!), copyMs)) {
          held[stage]! += change;
          assert.ok(held[stage]! <= Math.ceil((p! + 2) / 2) + 1e-9, `${p} stages, ${m} micro-batches, stage ${stage}: ${held[stage]}`);
        }
        assert.ok(held.every((count) => count === 0));
      }
  });

  it('has every micro-batch back for its backward, once for each time it left', () => {
    for (const [p, m] of shapes) {
      const { copies, rowStart, kind, unit } = made('BPipe', p!, m!);
      for (let stage = 0; stage < p!; stage++) {
        const row = (what: number, which: number): number =>
          Array.from({ length: 2 * m! }, (_, index) => rowStart[stage]! + index).find(
            (each) => kind[each] === what && unit[each] === which,
          )!;
        for (let copy = copies!.start[stage]!; copy < copies!.start[stage + 1]!; copy++) {
          assert.ok(copies!.after[copy]! < copies!.before[copy]!);
          const own = [...copies!.unit].flatMap((which, each) =>
            which === copies!.unit[copy] && copies!.chunk[each] === stage ? [each] : [],
          );
          const [out, back] = [own.find((each) => copies!.back[each] === 0)!, own.find((each) => copies!.back[each] === 1)!];
          assert.equal(own.length, 2);
          assert.equal(copies!.after[out], row(operationKind.forward, copies!.unit[copy]!));
          assert.equal(copies!.before[back], row(operationKind.backward, copies!.unit[copy]!));
          assert.ok(copies!.before[out]! <= copies!.after[back]! + 1);
        }
      }
    }
  });

  it('copies one after the other in each direction, after its own row and before the row that waits', () => {
    for (const copyMs of [0, 0.5, 3]) {
      const timeline = timed(made('BPipe', 8, 24), copyMs);
      const { copies, startMs, endMs } = timeline;
      for (let stage = 0; stage < 8; stage++) {
        const own = timedCopies(timeline, stage);
        own.forEach((copy, index) => {
          const column = copies!.start[stage]! + index;
          assert.equal(copy.endMs, copy.startMs + copyMs);
          assert.equal(copy.other, 7 - stage);
          assert.ok(copy.startMs >= endMs[copies!.after[column]!]!);
          assert.ok(copy.endMs <= startMs[copies!.before[column]!]!);
        });
        for (const way of [true, false]) {
          const along = own.filter(({ isBack }) => isBack === way);
          assert.ok(along.every(({ startMs }, index) => index === 0 || startMs >= along[index - 1]!.endMs));
        }
      }
      assert.ok(timedCopies(timeline, 0).length > 0 && timedCopies(timeline, 7).length === 0);
    }
  });

  it('takes no longer than 1F1B where a copy is no longer than a forward, and longer from then on', () => {
    for (const [p, m] of [
      [8, 32],
      [4, 64],
      [16, 48],
    ] as const) {
      const plain = timed(made('1F1B', p, m), 0).makespanMs;
      const times = [0, 0.5, 1, 2, 4].map((ms) => timed(made('BPipe', p, m), ms).makespanMs);
      assert.deepEqual(times.slice(0, 3), [plain, plain, plain]);
      assert.ok(times[3]! > plain && times[4]! > times[3]!);
    }
  });
});
