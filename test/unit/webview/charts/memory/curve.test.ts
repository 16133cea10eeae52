import assert from 'node:assert/strict';
import fc from 'fast-check';
import { peakPoints, pointAt } from '../../../../../webview/charts/memory/curve';

const curve = { timeMs: Float64Array.of(0, 2, 5, 9), bytes: Float64Array.of(10, 40, 20, 10) };

describe('memory curve', () => {
  it('holds its value until the next point', () => {
    assert.deepEqual(
      [0, 1.9, 2, 4, 5, 100].map((ms) => curve.bytes[pointAt(curve, ms)]),
      [10, 10, 40, 40, 20, 10],
    );
  });

  it('has the last of several values of one time', () => {
    const steps = { timeMs: Float64Array.of(0, 0, 3, 3), bytes: Float64Array.of(10, 40, 20, 30) };
    assert.deepEqual(
      [0, 2, 3].map((ms) => steps.bytes[pointAt(steps, ms)]),
      [40, 40, 30],
    );
  });

  it('keeps the peak of every pixel column', () => {
    assert.deepEqual([...peakPoints(curve, 0, 3, 4)], [1, 1, 2, 3]);
    assert.deepEqual([...peakPoints(curve, 2, 1, 4)], [1, 1, 1, 2]);
  });

  it('loses no peak at any zoom', () => {
    const points = fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(points, fc.integer({ min: 1, max: 30 }), (bytes, width) => {
        const steps = { timeMs: Float64Array.from(bytes, (_, index) => index), bytes: Float64Array.from(bytes) };
        const peaks = [...peakPoints(steps, 0, bytes.length / width, width)].map((point) => bytes[point]!);
        assert.equal(Math.max(...peaks), Math.max(...bytes));
      }),
      { seed: 10 },
    );
  });
});
