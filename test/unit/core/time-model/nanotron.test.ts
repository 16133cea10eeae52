import assert from 'node:assert/strict';
import { boundaryMs, megatronBoundary, pipelineLinkSeconds } from '../../../../src/core/time-model/boundary';
import { gatherSeconds } from '../../../../src/core/time-model/collectives';
import { gradientExchangeTime } from '../../../../src/core/time-model/gradient-exchange';
import { tensorParallelSeconds } from '../../../../src/core/time-model/tensor-parallel';
import { usualLoss } from '../../../../src/core/domain/runtime';
import { reducesAfterBackward } from '../../../../src/core/domain/runtime-habits';
import type { Layout, TrainingSpec } from '../../../../src/core/domain/request';
import { llama3, request } from '../../../golden/requests';

const inputs = (training: Partial<TrainingSpec>, layout: Partial<Layout>) =>
  request('H100-80GB', llama3('70b', 8), { training: { attention: 'flash', runtime: 'nanotron', ...training }, layout });

describe('times under nanotron', () => {
  it('has four and a half messages of 20 us each way for a tensor, and as many from the other neighbour', () => {
    const run = inputs({}, { pipeline: 4 });
    const bytes = 2 * 4096 * run.model.hidden;
    const ms = boundaryMs(run, 1, 4096);
    assert.ok(Math.abs(ms - 2e3 * (pipelineLinkSeconds(run, bytes) + 4.5 * 20e-6)) < 1e-9);
  });

  it('sends from every tensor-parallel rank all that it holds, which without sequence parallelism is everything', () => {
    const layout = { tensor: 4, pipeline: 4 };
    const [whole, shared] = [false, true].map((sequenceParallel) => boundaryMs(inputs({ sequenceParallel }, layout), 1, 4096)) as [
      number,
      number,
    ];
    const latency = 2e3 * 4.5 * 20e-6;
    assert.ok(Math.abs((whole - latency) / (shared - latency) - 4) < 1e-9);
    const asMegatron = inputs({ sequenceParallel: true, runtime: 'megatron' }, layout);
    assert.ok(megatronBoundary(asMegatron, 1, 4096) < shared);
  });

  it('gathers the input of a sublayer once more in backward and overlaps nothing', () => {
    const run = inputs({ sequenceParallel: true }, { tensor: 4 });
    const once = gatherSeconds(2 * 4096 * run.model.hidden, 4, run.cluster);
    const { forward, backward } = tensorParallelSeconds(run, 4096);
    assert.ok(Math.abs(forward / once - 4) < 1e-9);
    assert.ok(Math.abs(backward / once - 6) < 1e-9);
  });

  it('hides with asynchronous products what Megatron-LM hides in backward, and a share of both other gathers', () => {
    const layout = { tensor: 4 };
    const times = (training: Partial<TrainingSpec>, tokens: number) =>
      tensorParallelSeconds(inputs({ sequenceParallel: true, ...training }, layout), tokens);
    const async = { asyncTensorParallel: true };
    const [plain, hidden, megatron] = [times({}, 4096), times(async, 4096), times({ runtime: 'megatron' }, 4096)] as const;
    assert.ok(hidden.forward < plain.forward && hidden.forward > plain.forward / 2);
    assert.ok(hidden.backward < megatron.backward && megatron.backward < plain.backward);
    assert.deepEqual(times({ asyncTensorParallel: false }, 4096), plain);
  });

  it('hides no gradients of a sharded optimizer in fp32, which leave whole after backward', () => {
    const none = { weights: { share: 0, ms: 0 }, gradients: [{ share: 1, ms: 0 }] };
    const exchange = (training: Partial<TrainingSpec>, windows?: typeof none) =>
      gradientExchangeTime(
        inputs({ overlapGradReduce: true, gradAccumulationFp32: true, ...training }, { data: 8 }),
        { layers: 8 },
        windows,
      );
    assert.ok(exchange({ zeroStage: 0 }) < 0.6 * exchange({ zeroStage: 0 }, none));
    assert.equal(exchange({ zeroStage: 1 }), exchange({ zeroStage: 1 }, none));
    const half = { runtime: 'nanotron', zeroStage: 1, gradAccumulationFp32: false } as const;
    assert.deepEqual([reducesAfterBackward(half), reducesAfterBackward({ ...half, gradAccumulationFp32: true })], [false, true]);
  });

  it('all-reduces gradients in fp32 whatever the optimizer shards, and then gathers the weights', () => {
    const run = (zeroStage: 0 | 1) => inputs({ zeroStage, gradAccumulationFp32: true }, { data: 8 });
    const [reduced, gathered] = ([0, 1] as const).map((stage) => gradientExchangeTime(run(stage), { layers: 8 })) as [number, number];
    // 8 bytes a parameter, and 2 more for the weights
    assert.ok(Math.abs(gathered / reduced - 10 / 8) < 0.01, `${gathered / reduced}`);
  });

  it('computes the cross entropy in several kernels', () => {
    assert.equal(usualLoss({ runtime: 'nanotron', modelType: 'custom' }).value, false);
  });
});
