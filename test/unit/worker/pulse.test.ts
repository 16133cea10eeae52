import assert from 'node:assert/strict';
import { createPulse } from '../../../src/worker/pulse';

describe('the pulse of a process', () => {
  it('beats as long as it answers now and then, however long that takes', () => {
    const pulse = createPulse();
    for (let asked = 1; asked <= 10_000; asked += 1) {
      assert.ok(pulse.ask(), String(asked));
      if (asked % 10 === 0) pulse.beat();
    }
  });

  it('is lost after fifteen questions without an answer', () => {
    const pulse = createPulse();
    const answers = Array.from({ length: 17 }, () => pulse.ask());
    assert.deepEqual([answers.indexOf(false), answers.lastIndexOf(true)], [15, 14]);
  });
});
