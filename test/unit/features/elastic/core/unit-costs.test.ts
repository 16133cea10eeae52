import assert from 'node:assert/strict';
import { gpuPresets } from '../../../../../src/core/cluster/presets';
import { defaultConstants } from '../../../../../src/core/domain/slice-cost';
import { layerTime } from '../../../../../src/core/time-model/layer-time';
import type { CostInputs } from '../../../../../src/core/time-model/rates';
import { profiledStageCost } from '../../../../../src/core/time-model/profile-cost';
import { analyticCosts, profiledCosts } from '../../../../../src/features/elastic/core/unit-costs';
import { savedBytes } from '../../../../../src/core/memory-model/activation-memory';
import { decoderEnds } from '../../../../../src/core/model/ends';
import type { ModelSpec } from '../../../../../src/core/domain/model';
import { profileWith } from '../../../core/measured-profile/profiles';
import { bertLarge, gptSmall, layoutOfOne, trainingOf } from './models';

const { gpu, links } = gpuPresets['V100-16GB'];

function inputsOf(model: ModelSpec, training: Partial<CostInputs['training']>): CostInputs {
  return {
    model,
    // PipeTransformer runs on PyTorch's own layers, whose gradients are added up by themselves
    training: { ...trainingOf(512), gradAccumulationFusion: false, ...training },
    layout: layoutOfOne,
    cluster: { gpu, links, nodes: 1, gpusPerNode: 8 },
    constants: defaultConstants,
  };
}

const variants = [
  { attention: 'flash', dropout: false, precision: 'fp16' },
  { attention: 'unfused', dropout: true, precision: 'fp16' },
  { attention: 'unfused', dropout: false, precision: 'fp32' },
] as const;
const models: readonly ModelSpec[] = [gptSmall, { ...gptSmall, gatedMlp: true, positions: 'rotary', kvHeads: 4 }];

function close(actual: number, expected: number, what: string): void {
  assert.ok(Math.abs(actual - expected) <= 1e-9 * expected, `${what}: ${actual} against ${expected}`);
}

describe('costs of half layers', () => {
  it('add up to the layer of the step-time model, forward and backward, and to its saved bytes', () => {
    for (const variant of variants)
      for (const model of models) {
        const inputs = inputsOf(model, variant);
        const { attention, 'feed-forward': feedForward } = analyticCosts(inputs, { spec: model, ends: decoderEnds(model) })(3);
        const layer = layerTime(inputs)(3, 512, 0);
        close(attention.forwardMs + feedForward.forwardMs, 1e3 * layer.forward, 'forward');
        const backward = [attention, feedForward].reduce((sum, half) => sum + half.backwardInputMs + half.backwardWeightMs, 0);
        close(backward, 1e3 * layer.backward, 'backward');
        const unit = { microBatch: 0, slice: 0, batch: 3, tokens: 512, context: 0 };
        const saved = savedBytes(inputs, { layers: 1, first: false, last: false }, unit, false).activations;
        close(attention.savedBytes + feedForward.savedBytes, saved, 'saved');
      }
  });

  it('let an encoder attend to twice the causal half with a fused kernel, and to the same without', () => {
    const flash = inputsOf(bertLarge.spec, { attention: 'flash' });
    const causal = analyticCosts(flash, { spec: bertLarge.spec, ends: { ...bertLarge.ends, causal: true } })(64).attention;
    const both = analyticCosts(flash, bertLarge)(64).attention;
    assert.ok(both.forwardMs > causal.forwardMs && both.forwardMs < 2 * causal.forwardMs);
    assert.equal(both.backwardWeightMs, causal.backwardWeightMs);
  });

  it('need no gradient of an image or of token ids', () => {
    const costs = analyticCosts(inputsOf(gptSmall, {}), { spec: gptSmall, ends: decoderEnds(gptSmall) })(2);
    assert.equal(costs.embedding.backwardInputMs, 0);
    assert.ok(costs.embedding.backwardWeightMs > 0);
  });

  it('take the times of a profiled layer, and leave memory and ends as they are', () => {
    const inputs = inputsOf(gptSmall, { precision: 'fp16' });
    const profile = profileWith();
    const gpt = { spec: gptSmall, ends: decoderEnds(gptSmall) };
    const costs = profiledCosts(inputs, gpt, profile)(2);
    const halves = [costs.attention, costs['feed-forward']];
    const layer = profiledStageCost(inputs, profile, 1, { first: false, last: false })(2, 512, 0);
    close(halves.reduce((sum, { forwardMs }) => sum + forwardMs, 0), layer.forwardMs, 'forward'); // prettier-ignore
    close(halves.reduce((sum, half) => sum + half.backwardInputMs + half.backwardWeightMs, 0), layer.backwardMs, 'backward'); // prettier-ignore
    const analytic = analyticCosts(inputs, gpt)(2);
    assert.deepEqual(costs.head, analytic.head);
    assert.equal(costs.attention.savedBytes, analytic.attention.savedBytes);
  });

  it('run forward again and keep only inputs with full recompute', () => {
    const gpt = { spec: gptSmall, ends: decoderEnds(gptSmall) };
    const kept = analyticCosts(inputsOf(gptSmall, {}), gpt)(2).attention;
    const again = analyticCosts(inputsOf(gptSmall, { recompute: 'full' }), gpt)(2).attention;
    close(again.backwardWeightMs - kept.backwardWeightMs, kept.forwardMs, 'recomputed');
    assert.equal(again.savedBytes, 4 * 2 * 512 * 768);
  });
});
