import assert from 'node:assert/strict';
import { idleGaps } from '../../../../../src/core/schedules/simulate/gaps';
import { busyTimes, idleTimes } from '../../../../../src/core/schedules/simulate/idle';
import { generateSchedule, toScheduleProblem } from '../../../../../src/core/schedules/registry';
import { operationKind, type Schedule } from '../../../../../src/core/schedules/schedule';
import { noTransfers, simulate, deadlockedAt, wholeBackward } from '../../../../../src/core/schedules/simulate/simulate';
import type { Durations } from '../../../../../src/core/schedules/simulate/transfers';
import type { Scheme } from '../../../../../src/core/domain/scheme';

/** `F0 F1 B1 B0`: units by index. */
function orderOf({ rowStart, kind, unit }: Schedule, stage: number): string {
  const rows = Array.from({ length: rowStart[stage + 1]! - rowStart[stage]! }, (_, index) => index + rowStart[stage]!);
  return rows.map((row) => `${kind[row] === operationKind.forward ? 'F' : 'B'}${unit[row]!}`).join(' ');
}

function equalTimes(stages: number, units: number, forward: number, backward: number): Durations {
  return wholeBackward(new Float64Array(stages * units).fill(forward), new Float64Array(stages * units).fill(backward));
}

const whole = (microBatches: number): Scheme => Array.from({ length: microBatches }, () => ({ batch: 1, tokens: [64] }));
const sliced: Scheme = [
  { batch: 1, tokens: [40, 24] },
  { batch: 1, tokens: [64] },
];

describe('schedule orders', () => {
  it('reverse the forward order in TeraPipe', () => {
    assert.equal(orderOf(generateSchedule('TeraPipe', toScheduleProblem(sliced, 3)), 1), 'F0 F1 F2 B2 B1 B0');
  });

  it('start backward at the first micro-batch in GPipe, its last slice first', () => {
    assert.equal(orderOf(generateSchedule('GPipe', toScheduleProblem(sliced, 3)), 1), 'F0 F1 F2 B1 B0 B2');
  });

  it('run ahead by the number of later stages in 1F1B', () => {
    const schedule = generateSchedule('1F1B', toScheduleProblem(whole(4), 3));
    assert.equal(orderOf(schedule, 0), 'F0 F1 F2 B0 F3 B1 B2 B3');
    assert.equal(orderOf(schedule, 1), 'F0 F1 B0 F2 B1 F3 B2 B3');
    assert.equal(orderOf(schedule, 2), 'F0 B0 F1 B1 F2 B2 F3 B3');
  });

  it('run no further ahead than there are micro-batches', () => {
    assert.equal(orderOf(generateSchedule('1F1B', toScheduleProblem(whole(2), 5)), 0), 'F0 F1 B0 B1');
  });
});

describe('simulate', () => {
  it('delays every stage but the first by one hop each way when the sender is free', () => {
    const hop = new Float64Array(4).fill(1);
    const timeline = simulate(generateSchedule('GPipe', toScheduleProblem(whole(4), 4)), equalTimes(4, 4, 1, 1), {
      forwardMs: hop,
      backwardMs: hop,
      mode: 'edge',
    });
    assert.equal(timeline.makespanMs, (4 + 3) * 2 + 2 * 3);
  });

  it('has a bubble of (p - 1) / (m + p - 1) under 1F1B on equal stages', () => {
    const timeline = simulate(generateSchedule('1F1B', toScheduleProblem(whole(24), 8)), equalTimes(8, 24, 1, 2), noTransfers(24));
    assert.ok(Math.abs(busyTimes(timeline).bubbleRate - 7 / 31) < 1e-12);
  });

  it('names the operation each stage is stuck at', () => {
    const schedule = generateSchedule('1F1B', toScheduleProblem(whole(2), 2));
    const backwardFirst: Schedule = { ...schedule, kind: schedule.kind.map((kind) => 1 - kind) };
    assert.throws(() => simulate(backwardFirst, equalTimes(2, 2, 1, 1), noTransfers(2)), {
      code: 'schedule-stuck',
      message:
        'The schedule cannot run, its stages wait for each other: stage 0 at the backward of micro-batch 0; stage 1 at the backward of micro-batch 0',
    });
  });
});

describe('slices', () => {
  const slices: Scheme = [{ batch: 1, tokens: [8, 8] }];
  const swapped = (first: number, second: number): Schedule => {
    const schedule = generateSchedule('TeraPipe', toScheduleProblem(slices, 1));
    const unit = schedule.unit.slice();
    [unit[first], unit[second]] = [unit[second]!, unit[first]!];
    return { ...schedule, unit };
  };

  it('go forward only after the earlier ones', () => {
    assert.deepEqual(deadlockedAt(swapped(0, 1)), [{ stage: 0, row: 0, waitsFor: 1 }]);
  });

  it('go backward only after the later ones', () => {
    assert.deepEqual(deadlockedAt(swapped(2, 3)), [{ stage: 0, row: 2, waitsFor: 3 }]);
  });
});

describe('gaps', () => {
  it('explains why a stage idles', () => {
    const timeline = simulate(generateSchedule('TeraPipe', toScheduleProblem(whole(2), 2)), equalTimes(2, 2, 1, 1), noTransfers(2));
    assert.deepEqual(idleGaps(timeline, 0), [{ startMs: 2, endMs: 4, cause: 'turn', row: 2 }]);
    assert.deepEqual(idleGaps(timeline, 1), [
      { startMs: 0, endMs: 1, cause: 'warm-up', row: 4 },
      { startMs: 5, endMs: 6, cause: 'drain', row: null },
    ]);
  });

  it('distinguishes waiting for activations from waiting for gradients', () => {
    const durations = wholeBackward(Float64Array.from([5, 5, 1, 1]), Float64Array.from([1, 1, 1, 1]));
    const timeline = simulate(generateSchedule('1F1B', toScheduleProblem(whole(2), 2)), durations, noTransfers(2));
    assert.deepEqual(
      idleGaps(timeline, 1).map((gap) => gap.cause),
      ['warm-up', 'activation', 'drain'],
    );
    assert.deepEqual(
      idleGaps(timeline, 0).map((gap) => gap.cause),
      ['gradient'],
    );
  });
});

describe('idle time by cause', () => {
  const onStage = (times: ReturnType<typeof idleTimes>, stage: number): Record<string, number> =>
    Object.fromEntries(Object.entries(times).flatMap(([cause, ms]) => (ms[stage]! > 0 ? [[cause, ms[stage]!]] : [])));
  const schedule = generateSchedule('GPipe', toScheduleProblem(whole(1), 2));

  it('takes the time on the way out of a wait', () => {
    const durations = equalTimes(2, 1, 1, 1);
    const half = Float64Array.from([0.5]);
    const transfers = { forwardMs: half, backwardMs: half, mode: 'edge' } as const;
    const times = idleTimes(simulate(schedule, durations, transfers), durations, transfers);
    assert.deepEqual(onStage(times, 0), { turn: 2.5, link: 0.5 });
    assert.deepEqual(onStage(times, 1), { 'warm-up': 1, drain: 1.5, link: 0.5 });
  });

  it('blames imbalance for what a wait is longer than with every chunk at the mean', () => {
    const durations = wholeBackward(Float64Array.from([1, 3]), Float64Array.from([1, 3]));
    const times = idleTimes(simulate(schedule, durations, noTransfers(1)), durations, noTransfers(1));
    assert.deepEqual(onStage(times, 0), { turn: 4, imbalance: 2 });
    assert.deepEqual(onStage(times, 1), { 'warm-up': 1, drain: 1 });
  });
});
