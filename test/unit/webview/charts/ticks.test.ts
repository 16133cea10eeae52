import assert from 'node:assert/strict';
import fc from 'fast-check';
import { formatTime, niceTicks, timeLabels } from '../../../../webview/charts/ticks';

describe('time axis', () => {
  it('marks multiples of 1, 2 or 5', () => {
    assert.deepEqual(niceTicks(0, 10, 5), { values: [0, 2, 4, 6, 8, 10], step: 2 });
    assert.deepEqual(
      niceTicks(0.31, 0.99, 4).values.map((value) => Number(value.toFixed(6))),
      [0.4, 0.6, 0.8],
    );
    assert.deepEqual(niceTicks(5, 5, 4), { values: [], step: 0 });
  });

  it('stays inside the range and near the number asked for', () => {
    const times = fc.double({ min: 0, max: 1e7, noNaN: true });
    fc.assert(
      fc.property(times, fc.double({ min: 1e-3, max: 1e7, noNaN: true }), fc.integer({ min: 2, max: 20 }), (start, span, most) => {
        const { values, step } = niceTicks(start, start + span, most);
        assert.ok(values.length <= most + 1);
        for (const value of values) assert.ok(value >= start - step * 1e-6 && value <= start + span + step * 1e-6);
      }),
      { seed: 3 },
    );
  });

  it('writes all labels of an axis in one unit with the digits the step needs', () => {
    const label = timeLabels(200, 1600);
    assert.deepEqual([0, 200, 1400].map(label), ['0.0 s', '0.2 s', '1.4 s']);
    assert.equal(timeLabels(2, 872)(862), '862 ms');
    assert.equal(timeLabels(0.0005, 0.004)(0.0015), '1.5 µs');
  });

  it('distinguishes two neighbouring pixels in the label of the pointer', () => {
    assert.equal(formatTime(862.2, 24), '862.20 ms');
    assert.equal(formatTime(1234, 10_000), '1.23 s');
  });
});
