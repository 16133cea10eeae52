import assert from 'node:assert/strict';
import { gpuPresets } from '../../../../src/core/cluster/presets';
import { allReduceSeconds, gatherSeconds } from '../../../../src/core/cost/collectives';
import type { CostInputs } from '../../../../src/core/cost/layer-time';
import { floorShare, gradientExchange, optimizerTime, stageCost, terapipeBoundary } from '../../../../src/core/cost/stage-time';
import { gpt, request } from '../../../golden/requests';

/** The 3.6B run of the reference vectors: micro-batch 2, 2,048 tokens, full recompute. */
const reference: CostInputs = request('A100-80GB', gpt(30, 3072, 32, 51200), {
  training: { microBatch: 2, globalBatch: 512, recompute: 'full' },
  layout: { data: 64 },
});
const middle = { first: false, last: false };

function sum({ forwardMs, backwardMs }: { forwardMs: number; backwardMs: number }): number {
  return forwardMs + backwardMs;
}

describe('stage cost', () => {
  it('gives the reference layer 29.091 ms and the reference head 19.090 ms', () => {
    assert.equal(sum(stageCost(reference, 1, middle)(2, 2048, 0)).toFixed(3), '29.091');
    assert.equal(sum(stageCost(reference, 0, { first: false, last: true })(2, 2048, 0)).toFixed(3), '19.090');
  });

  it('is linear in layers', () => {
    const one = stageCost(reference, 1, middle)(2, 512, 512);
    const three = stageCost(reference, 3, middle)(2, 512, 512);
    assert.ok(Math.abs(sum(three) - 3 * sum(one)) < 1e-9);
  });

  it('is flat for short slices, which sit on the issue floor and on weight traffic, then grows', () => {
    const cost = stageCost(reference, 1, middle);
    assert.ok(sum(cost(1, 16, 0)) / sum(cost(1, 8, 0)) < 1.02);
    assert.ok(sum(cost(1, 2048, 0)) / sum(cost(1, 1024, 0)) > 1.7);
  });

  it('charges later slices for their context, fused or not', () => {
    for (const attention of ['flash', 'unfused'] as const) {
      const cost = stageCost({ ...reference, training: { ...reference.training, attention } }, 1, middle);
      assert.ok(sum(cost(1, 1024, 8192)) > 1.05 * sum(cost(1, 1024, 0)), attention);
    }
  });

  it('adds a whole forward to backward with full recompute and only unfused attention with selective', () => {
    const without = { ...reference, training: { ...reference.training, recompute: 'none' as const } };
    const selective = { ...reference, training: { ...reference.training, recompute: 'selective' as const } };
    const at = (inputs: CostInputs) => stageCost(inputs, 1, middle)(2, 2048, 0);
    assert.ok(Math.abs(at(reference).backwardMs - at(without).backwardMs - at(without).forwardMs) < 1e-9);
    assert.ok(at(selective).backwardMs > at(without).backwardMs && at(selective).backwardMs < at(reference).backwardMs);
  });

  it('splits fused attention over context-parallel ranks and charges the exchange', () => {
    const long = { ...reference, training: { ...reference.training, attention: 'flash' as const } };
    const split = { ...long, layout: { ...long.layout, context: 4 } };
    const whole = sum(stageCost(long, 1, middle)(1, 65536, 0));
    const quarter = sum(stageCost(split, 1, middle)(1, 65536, 0));
    assert.ok(quarter > whole / 4 && quarter < whole / 3);
  });
});

describe('share on the issue floor', () => {
  it('falls with the size of the work', () => {
    assert.ok(floorShare(reference, 1, 16) > 0.5);
    assert.ok(floorShare(reference, 2, 2048) < 0.05);
  });
});

describe('collectives', () => {
  const a100 = gpuPresets['A100-80GB'];
  it('cost nothing for one rank', () => {
    assert.equal(allReduceSeconds(1e9, 1, a100), 0);
    assert.equal(gatherSeconds(1e9, 1, a100), 0);
  });

  it('run over the node links inside a node and over the network beyond', () => {
    assert.ok(Math.abs(allReduceSeconds(1e9, 8, a100) - ((2 * 7) / 8 / 221 + 72e-6)) < 1e-9);
    assert.ok(Math.abs(allReduceSeconds(1e9, 16, a100) - ((2 * 15) / 16 / 98 + 2 * 87e-6)) < 1e-9);
  });

  it('split an all-reduce into a scatter and a gather', () => {
    assert.equal(2 * gatherSeconds(1e9, 8, a100), allReduceSeconds(1e9, 8, a100));
  });
});

describe('what follows the pipeline', () => {
  it('is no gradient exchange without replicas, and 30 bytes a parameter for Adam', () => {
    assert.equal(gradientExchange({ ...reference, layout: { ...reference.layout, data: 1 } }, 30, 'data'), 0);
    assert.equal(optimizerTime({ ...reference, training: { ...reference.training, optimizer: 'none' } }, 30), 0);
    assert.equal(optimizerTime(reference, 30).toFixed(2), '62.73');
    assert.equal(gradientExchange(reference, 30, 'data').toFixed(2), '142.82');
  });

  it("sends one copy of the boundary over a V100 node's 25 Gbit/s", () => {
    const setting9 = request('V100-16GB', gpt(96, 12288, 96, 0), { training: {}, layout: { tensor: 4, pipeline: 96 } });
    assert.equal(terapipeBoundary(setting9, 1, 2048).toFixed(2), ((2 * 2048 * 12288) / 2.79e6 + 0.02).toFixed(2));
  });
});
