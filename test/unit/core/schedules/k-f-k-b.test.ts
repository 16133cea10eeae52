import assert from 'node:assert/strict';
import { maximumUnitsInFlight } from '../../../../src/core/memory-model/curve';
import { readScheduleCsv } from '../../../../src/core/schedules/pytorch-csv/read';
import { writeScheduleCsv } from '../../../../src/core/schedules/pytorch-csv/write';
import { generateSchedule, toScheduleProblem } from '../../../../src/core/schedules/registry';
import { operationKind, type Schedule } from '../../../../src/core/schedules/schedule';
import { deadlockedAt, simulate, wholeBackward } from '../../../../src/core/schedules/simulate/simulate';

function kFkB(stages: number, microBatches: number, groupedMicroBatches?: number): Schedule {
  const scheme = Array.from({ length: microBatches }, () => ({ batch: 1, tokens: [1] }));
  return generateSchedule('kFkB', { ...toScheduleProblem(scheme, stages), groupedMicroBatches });
}

/** F and B of a stage, with their micro-batches. */
function orderOn({ rowStart, kind, unit }: Schedule, stage: number): string[] {
  const rows = Array.from({ length: (rowStart[stage + 1] ?? 0) - (rowStart[stage] ?? 0) }, (_, row) => (rowStart[stage] ?? 0) + row);
  return rows.map((row) => `${kind[row] === operationKind.forward ? 'F' : 'B'}${unit[row]}`);
}

/** Passes of 1 ms forward and 2 ms backward, each of whose sends takes its link for `sendMs`. */
function makespan(schedule: Schedule, sendMs: number): number {
  const cells = schedule.stageOfChunk.length * schedule.units.length;
  const sends = new Float64Array(schedule.units.length).fill(sendMs);
  const none = new Float64Array(schedule.units.length);
  const durations = wholeBackward(new Float64Array(cells).fill(1), new Float64Array(cells).fill(2));
  const link = { forwardMs: sends, backwardMs: sends };
  return simulate(schedule, durations, { forwardMs: none, backwardMs: none, link, mode: 'edge' }).makespanMs;
}

describe('kFkB', () => {
  it('runs k forwards, then k backwards, and is 1F1B where k is 1 or not set', () => {
    assert.deepEqual(orderOn(kFkB(2, 6, 2), 0), 'F0 F1 F2 F3 B0 B1 F4 F5 B2 B3 B4 B5'.split(' '));
    assert.deepEqual(orderOn(kFkB(2, 5, 2), 1), 'F0 F1 B0 B1 F2 F3 B2 B3 F4 B4'.split(' '));
    const scheme = Array.from({ length: 7 }, () => ({ batch: 1, tokens: [1] }));
    const plain = generateSchedule('1F1B', toScheduleProblem(scheme, 4));
    for (const schedule of [kFkB(4, 7), kFkB(4, 7, 1)])
      for (let stage = 0; stage < 4; stage++) assert.deepEqual(orderOn(schedule, stage), orderOn(plain, stage));
  });

  it('holds k micro-batches for the stage and each behind it, and never deadlocks', () => {
    for (const stages of [1, 2, 3, 5, 8])
      for (const microBatches of [1, 4, 7, 16, 33])
        for (const k of [1, 2, 3, 5, 40]) {
          const schedule = kFkB(stages, microBatches, k);
          assert.deepEqual(deadlockedAt(schedule), []);
          for (let stage = 0; stage < stages; stage++)
            assert.equal(maximumUnitsInFlight(schedule, stage), Math.min(microBatches, k * (stages - stage)));
        }
  });

  it("is PyTorch's CSV and back", () => {
    const schedule = kFkB(4, 8, 2);
    for (const format of ['compute_only', 'compute_comms'] as const) {
      const { schedule: read, problems } = readScheduleCsv(writeScheduleCsv(schedule, format), 'kfkb.csv');
      assert.deepEqual(problems, []);
      for (let stage = 0; stage < 4; stage++) assert.deepEqual(orderOn(read!, stage), orderOn(schedule, stage));
    }
  });

  // arXiv 2303.01675, abstract: 4 to 30 % over 1F1B where the network is preempted. 8 stages, 64 micro-batches, F = 1, B = 2.
  it('hides sends that 1F1B waits for, as the paper has it, and gains nothing from a network that takes no time', () => {
    const gain = (sendMs: number): number =>
      makespan(kFkB(8, 64), sendMs) / Math.min(...[1, 2, 3, 4].map((k) => makespan(kFkB(8, 64, k), sendMs))) - 1;
    assert.equal(gain(0), 0);
    for (const sendMs of [0.1, 0.2, 0.4, 0.6]) assert.ok(gain(sendMs) > 0.04 && gain(sendMs) < 0.35, `${sendMs} ms: ${gain(sendMs)}`);
    assert.ok(gain(0.4) > gain(0.2) && gain(0.2) > gain(0.1));
  });

  it('takes a larger k the slower the network, as each hides (k - 1) of the shorter pass', () => {
    const best = (sendMs: number): number => {
      const times = [1, 2, 3, 4, 5, 6].map((k) => makespan(kFkB(4, 120, k), sendMs));
      return 1 + times.indexOf(Math.min(...times));
    };
    const chosen = [0, 0.4, 1, 1.6].map(best);
    assert.deepEqual(
      chosen,
      chosen.toSorted((a, b) => a - b),
    );
    assert.equal(chosen[0], 1);
    assert.ok((chosen.at(-1) ?? 0) > 1);
  });
});
