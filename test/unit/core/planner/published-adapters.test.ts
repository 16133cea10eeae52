import assert from 'node:assert/strict';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate } from '../../../../src/core/planner/plan';
import type { Adapter } from '../../../../src/core/domain/adapter';
import { llama3, request } from '../../../golden/requests';

/**
 * LoRA of Llama 3 70B on 8 GPUs, tokens a second and GPU: the performance summary of NVIDIA-NeMo/Megatron-Bridge at 067f987 (release 26.06,
 * FP8, 32 sequences of 4,096 tokens, 20 virtual stages). Its recipe trains adapters of rank 16 on `linear_qkv`. Nothing was fitted to
 * these.
 */
const published = [
  { gpu: 'H100-80GB', tensor: 2, pipeline: 4, tokens: 2643, tflops: 735 },
  { gpu: 'GB200', tensor: 1, pipeline: 2, tokens: 6206, tflops: 1731 },
] as const;

const adapter: Adapter = { rank: 16, targets: ['qkv'] };

describe('published steps of LoRA', () => {
  for (const { gpu, tensor, pipeline, tokens, tflops } of published)
    it(`are met to a fifth, and their model FLOPs to a hundredth: Llama 3 70B on 8 ${gpu}`, () => {
      const fp8 = { gemmPrecision: 'fp8', fp8ParamGather: true, runtimeVersion: '26.06' } as const;
      const usual = { precision: 'bf16', attention: 'flash', dropout: false, fusedCrossEntropy: true, zeroStage: 1 } as const;
      const training = { ...usual, ...fp8, adapter, sequenceLength: 4096, globalBatch: 32, sequenceParallel: tensor > 1 };
      const layout = { tensor, pipeline, data: 8 / tensor / pipeline, virtualStages: 20 };
      const plan = makePlan({ ...request(gpu, llama3('70b', 80), { training, layout }), schedule: '1F1B' });
      const { tokensPerSecond, mfu, fits } = chosenCandidate(plan);
      const each = tokensPerSecond / 8;
      assert.ok(Math.abs(each / tokens - 1) < 0.2, `${each} for ${tokens}`);
      assert.ok(fits);
      const flopsPerToken = (mfu * plan.request.cluster.gpu.peakTflops.fp8!) / each;
      const attention = (6 * 2 * 8192 * 2048 * 80) / 1e12;
      assert.ok(Math.abs((flopsPerToken - attention) / (tflops / tokens) - 1) < 0.01, 'which leave attention out');
      const [low, high] = plan.cost.range;
      assert.ok(each / tokens > low && each / tokens < high, 'inside the bar');
      assert.ok(JSON.stringify(plan.cost).includes((each / tokens).toFixed(2)), 'as the reason for the bar shows');
    });
});
