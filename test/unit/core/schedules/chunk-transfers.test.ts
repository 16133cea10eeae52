import assert from 'node:assert/strict';
import { generateSchedule, toScheduleProblem } from '../../../../src/core/schedules/registry';
import { simulate, wholeBackward } from '../../../../src/core/schedules/simulate/simulate';
import type { Transfers } from '../../../../src/core/schedules/simulate/transfers';

const whole = (count: number) => Array.from({ length: count }, () => ({ batch: 1, tokens: [8] }));
const modes = ['edge', 'sending', 'blocking', 'fill-and-drain'] as const;

describe('transfers of each chunk', () => {
  it('are what transfers of all chunks are, where they are alike', () => {
    for (const [name, chunks] of [
      ['1F1B', 1],
      ['GPipe', 1],
      ['Interleaved1F1B', 2],
      ['TeraPipe', 1],
    ] as const)
      // prettier-ignore
      for (const mode of modes) {
        const schedule = generateSchedule(name, toScheduleProblem(whole(6), 3, chunks));
        const cells = 3 * chunks * 6;
        const forwardMs = Float64Array.from({ length: cells }, (_, cell) => 1 + (cell % 5));
        const durations = wholeBackward(forwardMs, forwardMs.map((ms) => 2 * ms)); // prettier-ignore
        const unit = Float64Array.from({ length: 6 }, (_, index) => 0.25 * (index + 1));
        const alike: Transfers = { forwardMs: unit, backwardMs: unit, link: { forwardMs: unit, backwardMs: unit }, mode };
        const each = Float64Array.from({ length: cells }, (_, cell) => unit[cell % 6]!);
        const eachWay = { forwardMs: each, backwardMs: each };
        const perChunk: Transfers = { ...eachWay, link: eachWay, perChunk: true, mode };
        const [a, b] = [alike, perChunk].map((transfers) => simulate(schedule, durations, transfers));
        assert.deepEqual([b!.startMs, b!.endMs, b!.makespanMs], [a!.startMs, a!.endMs, a!.makespanMs], `${name}, ${mode}`);
      }
  });

  it('take the time of their own boundary', () => {
    const schedule = generateSchedule('GPipe', toScheduleProblem(whole(1), 3));
    const ms = new Float64Array(3).fill(1);
    // forward over boundaries of 10 and 100 ms, backward over the same ones
    const run = (mode: Transfers['mode']) =>
      simulate(schedule, wholeBackward(ms, ms), {
        forwardMs: Float64Array.of(10, 100, 100),
        backwardMs: Float64Array.of(10, 10, 100),
        perChunk: true,
        mode,
      }).makespanMs;
    assert.equal(run('edge'), 6 + 2 * 110);
    assert.equal(run('fill-and-drain'), 6 + 2 * 110);
    // a sender is held: the ends by their one boundary, the middle by both
    assert.equal(run('blocking'), 6 + (10 + 100 + 100) + (100 + 10 + 10));
  });

  it('are refused where a chunk has none', () => {
    const schedule = generateSchedule('GPipe', toScheduleProblem(whole(2), 3));
    const ms = new Float64Array(6).fill(1);
    const short = new Float64Array(2);
    assert.throws(
      () => simulate(schedule, wholeBackward(ms, ms), { forwardMs: short, backwardMs: short, perChunk: true, mode: 'edge' }),
      RangeError,
    );
  });
});
