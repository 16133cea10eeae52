import assert from 'node:assert/strict';
import { liveBytes, maximumUnitsInFlight } from '../../../../src/core/memory/live-curve';
import { generateSchedule, problemOf } from '../../../../src/core/schedule/registry';
import { noTransfers, simulate, wholeBackward } from '../../../../src/core/schedule/simulate';
import type { Scheme } from '../../../../src/core/solver/slicing';

const whole = (microBatches: number): Scheme => Array.from({ length: microBatches }, () => ({ batch: 1, tokens: [64] }));

describe('live memory of a stage', () => {
  it('rises at the start of a forward and falls at the end of its backward', () => {
    const one = new Float64Array(4).fill(1);
    const timeline = simulate(generateSchedule('1F1B', problemOf(whole(2), 2)), wholeBackward(one, one), noTransfers(2));
    const { timeMs, bytes } = liveBytes(timeline, 0, Float64Array.from([10, 20]), 100);
    assert.deepEqual(Array.from(timeMs), [0, 0, 1, 4, 6]);
    assert.deepEqual(Array.from(bytes), [100, 110, 130, 120, 100]);
  });

  it('holds as many micro-batches as there are stages from here on under 1F1B, all of them under GPipe', () => {
    const oneForwardOneBackward = generateSchedule('1F1B', problemOf(whole(16), 4));
    const gpipe = generateSchedule('GPipe', problemOf(whole(16), 4));
    for (let stage = 0; stage < 4; stage++) {
      assert.equal(maximumUnitsInFlight(oneForwardOneBackward, stage), 4 - stage);
      assert.equal(maximumUnitsInFlight(gpipe, stage), 16);
    }
  });
});
