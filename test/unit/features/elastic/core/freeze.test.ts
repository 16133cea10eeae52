import assert from 'node:assert/strict';
import { alphaPolicy, changePolicy, givenPolicy, gradientPolicy, type FreezePolicy } from '../../../../../src/features/elastic/core/freeze';
import { readGradientNorms } from '../../../../../src/features/elastic/core/gradient-norms';
import { toGradientNorms } from '../../../../../src/features/elastic/core/norm-table';

function run(policy: FreezePolicy, epochs: number): number[] {
  let previous = 0;
  return Array.from({ length: epochs }, (_, epoch) => (previous = policy.frozenLayers(epoch, previous)));
}

/** A log with one list of norms an epoch. */
function log(...norms: (number | null)[][]) {
  return toGradientNorms(readGradientNorms(JSON.stringify({ norms }), 'norms.json'));
}

describe('freezing by alpha', () => {
  it('freezes a fraction of what is left for any number of layers, and all in the end', () => {
    assert.deepEqual(run(alphaPolicy(24, 0.5), 7), [0, 12, 18, 21, 23, 24, 24]);
    assert.deepEqual(run(alphaPolicy(1, 0.01), 3), [0, 1, 1]);
    // 9 (1 - (2/3)^2) is 5 and no rounding makes it 6.
    assert.deepEqual(run(alphaPolicy(9, 1 / 3), 3), [0, 3, 5]);
  });

  it('refuses what is not a fraction', () => {
    for (const alpha of [0, 1, -0.2, 1.5, NaN]) assert.throws(() => alphaPolicy(12, alpha), { code: 'elastic-alpha' });
  });
});

describe('freezing by gradient norms', () => {
  it('freezes through the layer with the smallest norm of the epoch before', () => {
    const policy = gradientPolicy(4, 0.9, log([5, 1, 4, 4], [null, null, 3, 9]));
    assert.deepEqual(run(policy, 3), [0, 2, 3]);
  });

  it('freezes no more than the fraction of the layers left', () => {
    const falling = [9, 8, 7, 6, 5, 4, 3, 2];
    assert.deepEqual(run(gradientPolicy(8, 0.25, log(falling, falling, falling)), 4), [0, 2, 4, 5]);
  });

  it('takes the lowest of equal layers, and leaves the frozen ones out', () => {
    assert.deepEqual(run(gradientPolicy(4, 0.99, log([2, 2, 2, 2], [0, 7, 6, 6])), 3), [0, 1, 3]);
  });

  it('follows only alpha while the last layer has the smallest norm', () => {
    const norms = log(...Array.from({ length: 9 }, () => Array.from({ length: 12 }, (_, layer) => 12 - layer)));
    const bounded = run(gradientPolicy(12, 0.5, norms), 5);
    assert.deepEqual(bounded, [0, 6, 9, 11, 12]);
  });

  it('names the layer that has no norm, at its epoch', () => {
    const policy = gradientPolicy(4, 0.5, log([1, 1, 1, 1], [1, 1, null]));
    assert.equal(policy.frozenLayers(1, 0), 1);
    assert.throws(
      () => policy.frozenLayers(2, 1),
      { code: 'elastic-norms', message: 'The log has no gradient norm of layer 2 in epoch 1' }, // prettier-ignore
    );
    assert.throws(() => policy.frozenLayers(3, 1), { code: 'elastic-norms', message: 'The log has no gradient norms of epoch 2' });
  });
});

/** Norms by layer that PipeTransformer's auto_freeze.log prints in epochs 7 and 8; layers 0 to 4 were frozen before epoch 7. */
const released = {
  7: [170.69, 270.08, 219.99, 227.42, 219.09, 233.5, 227.06, 218.4, 224.2, 206.1, 233.45, 285.05],
  8: [170.69, 270.08, 219.99, 227.42, 219.09, 233.5, 197.39, 189.71, 194.06, 182.76, 207.36, 259.69],
} as const;

describe("freezing by the norms of PipeTransformer's log, as docs/elastic.md does by hand", () => {
  const norms = log([...released[7]], [...released[8]]);

  it('freezes 8 layers by the paper: the smallest norm allows 10, a third of the 7 layers left 3', () => {
    assert.equal(gradientPolicy(12, 1 / 3, norms).frozenLayers(1, 5), 8);
    assert.equal(gradientPolicy(12, 0.9, norms).frozenLayers(1, 5), 10);
  });

  it('freezes 7 layers by the released code, as its log shows', () => {
    assert.equal(changePolicy(12, norms).frozenLayers(2, 6), 7);
    assert.deepEqual([0, 1].map((epoch) => changePolicy(12, norms).frozenLayers(epoch, 6)), [6, 6]); // prettier-ignore
  });
});

describe('freezing as listed', () => {
  it('holds the last number', () => {
    assert.deepEqual(run(givenPolicy(12, [0, 0, 6]), 5), [0, 0, 6, 6, 6]);
  });

  it('refuses lists that fall, freeze too much, or are empty', () => {
    assert.throws(() => givenPolicy(12, [0, 6, 5]), { code: 'elastic-frozen-layers', message: 'Epoch 2 cannot have 5 frozen layers' });
    assert.throws(() => givenPolicy(12, [0, 13]), { message: 'Epoch 1 cannot have 13 frozen layers' });
    assert.throws(() => givenPolicy(12, []), { code: 'elastic-frozen-layers' });
  });
});
