import assert from 'node:assert/strict';
import { tableCost } from '../../../../src/core/time-model/table';

const cost = tableCost({
  tokens: [128, 256, 512],
  contexts: [0, 1024],
  forwardMs: [
    [10, 12],
    [16, 20],
    [28, 36],
  ],
  backwardMs: [
    [20, 24],
    [32, 40],
    [56, 72],
  ],
});

describe('cost table', () => {
  it('returns what was measured at its points', () => {
    assert.deepEqual(cost(1, 256, 1024), { forwardMs: 20, backwardMs: 40 });
  });

  it('is bilinear between them', () => {
    assert.deepEqual(cost(1, 192, 512), { forwardMs: 14.5, backwardMs: 29 });
  });

  it('continues along the last cell beyond the longest slice and context', () => {
    assert.deepEqual(cost(1, 768, 0), { forwardMs: 40, backwardMs: 80 });
    assert.deepEqual(cost(1, 128, 2048), { forwardMs: 14, backwardMs: 28 });
  });

  it('never makes a slice cheaper than the shortest one measured', () => {
    assert.deepEqual(cost(1, 8, 0), { forwardMs: 10, backwardMs: 20 });
  });

  it('does not carry noise that falls on beyond its range', () => {
    const falling = tableCost({ tokens: [64, 128], contexts: [0], forwardMs: [[10], [9]], backwardMs: [[0], [0]] });
    assert.equal(falling(1, 96, 0).forwardMs, 9.5);
    assert.equal(falling(1, 4096, 0).forwardMs, 9);
  });

  it('takes a single context for all and scales a single length upwards', () => {
    const single = tableCost({ tokens: [100], contexts: [0], forwardMs: [[5]], backwardMs: [[10]] });
    assert.deepEqual(single(1, 300, 700), { forwardMs: 15, backwardMs: 30 });
    assert.deepEqual(single(1, 20, 0), { forwardMs: 5, backwardMs: 10 });
  });

  it('runs sequences of a batch one after another', () => {
    assert.deepEqual(cost(3, 256, 0), { forwardMs: 48, backwardMs: 96 });
  });
});
