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

  const releases: readonly (readonly [what: string, changes: Partial<LaunchSettings>, version: string])[] = [
    ['the attention backend', {}, '0.11'],
    ['modules to recompute', { recompute: { granularity: 'selective', modules: ['layernorm'] } }, '0.12'],
    ['scales of FP8 by blocks', { gemmPrecision: 'fp8', fp8Recipe: 'blockwise' }, '0.13'],
    ['one scale of FP8', { gemmPrecision: 'fp8', fp8Recipe: 'tensorwise' }, '0.12'],
    ['NVFP4', { gemmPrecision: 'nvfp4' }, '0.15'],
    ['CUDA graphs of parts of a layer', { cudaGraphs: 'layers' }, '0.16'],
    ['a CUDA graph of the iteration', { cudaGraphs: 'iteration' }, '0.18'],
    ['activations on the host', { activationOffloadLayers: 2 }, '0.16'],
  ];
  for (const [what, changes, version] of releases)
    it(`names core ${version} as the oldest that takes its flags of ${what}`, () => {
      assert.deepEqual(versions(changes), [version]);
    });
});
