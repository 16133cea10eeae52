import assert from 'node:assert/strict';
import { forwardOnlySchedule } from '../../../../src/core/schedules/schedule';
import { noTransfers, simulate, wholeBackward } from '../../../../src/core/schedules/simulate/simulate';

describe('chunks of a prompt on their way down the stages', () => {
  const chunks = [40, 24, 16];
  const timesMs = [5, 9, 4];
  const times = (stages: number) =>
    wholeBackward(
      Float64Array.from({ length: stages * chunks.length }, (_, cell) => timesMs[cell % chunks.length] ?? 0),
      new Float64Array(stages * chunks.length),
    );

  it('take all of them and the slowest once more for each further stage, and nothing runs backward', () => {
    for (const stages of [1, 2, 4]) {
      const timeline = simulate(forwardOnlySchedule(chunks, stages), times(stages), noTransfers(chunks.length));
      assert.equal(timeline.makespanMs, 18 + (stages - 1) * 9);
      assert.equal(timeline.kind.length, stages * chunks.length);
    }
  });

  it('are still each run once on each stage', () => {
    const schedule = forwardOnlySchedule(chunks, 2);
    const broken = { ...schedule, unit: schedule.unit.map((unit, row) => (row === 1 ? 0 : unit)) };
    assert.throws(() => simulate(broken, times(2), noTransfers(chunks.length)), /a second time/);
    const { forwardOnly, ...both } = schedule;
    assert.ok(forwardOnly);
    assert.throws(() => simulate(both, times(2), noTransfers(chunks.length)), /no backward/);
  });
});
