import assert from 'node:assert/strict';
import type { LaunchSettings } from '../../../../../src/core/launchers/writing/launch-settings';
import { newLauncher } from '../../../../../src/core/export/launchers/new-launcher';
import { writerOf } from '../../export/launchers/editors';
import { planWith } from '../../export/launchers/plans';

describe('a new script of Megatron-LM', () => {
  const versions = (changes: Partial<LaunchSettings>): readonly string[] =>
    [...newLauncher(planWith(changes), writerOf('megatron-shell')).text.matchAll(/core (0\.\d+) and newer/g)].map(
      ([, version = '']) => version,
    );

  const { model } = planWith();
  const latent = { qRank: 1536, kvRank: 512, nopeHeadDim: 128, ropeHeadDim: 64, vHeadDim: 128 };
  const ahead = { ...model, mtpLayers: 1 };
  const mixture = { ...model, experts: { count: 8, active: 2 } };
  const releases: readonly (readonly [what: string, changes: Partial<LaunchSettings>, version: string])[] = [
    ['the attention backend', { tensor: 2, data: 4 }, '0.11'],
    ['layers that are not split, without CUDA_DEVICE_MAX_CONNECTIONS', {}, '0.12'],
    ['modules to recompute', { recompute: { granularity: 'selective', modules: ['layernorm'] } }, '0.12'],
    ['scales of FP8 by blocks', { gemmPrecision: 'fp8', fp8Recipe: 'blockwise' }, '0.13'],
    ['one scale of FP8', { gemmPrecision: 'fp8', fp8Recipe: 'tensorwise' }, '0.12'],
    ['NVFP4', { gemmPrecision: 'nvfp4' }, '0.15'],
    ['CUDA graphs of parts of a layer', { cudaGraphs: 'layers' }, '0.16'],
    ['a CUDA graph of the iteration', { cudaGraphs: 'iteration' }, '0.18'],
    ['activations on the host', { activationOffloadLayers: 2 }, '0.16'],
    ['latent attention', { model: { ...model, latent } }, '0.13'],
    ['two uneven stages', { pipeline: 2, data: 4, stageLayers: [13, 11] }, '0.13'],
    ['multi-token prediction', { model: ahead }, '0.12'],
    ['multi-token prediction with context parallelism', { model: ahead, context: 2, data: 4 }, '0.14'],
    ['multi-token prediction in a layout of stages', { model: ahead, pipeline: 4, data: 2, stageLayers: [7, 7, 6, 4] }, '0.14'],
    ['experts', { model: mixture, tensor: 2, data: 4 }, '0.11'],
    ['experts with biases', { model: { ...mixture, qkvBias: true, attentionOutputBias: true, mlpBias: true } }, '0.15'],
    ['grouped GEMMs in fp16', { model: mixture, precision: 'fp16' }, '0.16'],
    ['dense layers in fp16', { precision: 'fp16', tensor: 2, data: 4 }, '0.11'],
  ];
  for (const [what, changes, version] of releases)
    it(`names core ${version} as the oldest that takes its flags of ${what}`, () => {
      assert.deepEqual(versions(changes), [version]);
    });
});
