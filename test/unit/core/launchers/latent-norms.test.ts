import assert from 'node:assert/strict';
import type { ModelSpec } from '../../../../src/core/domain/model';
import { newLauncher } from '../../../../src/core/export/launchers/new-launcher';
import { runOfLauncher } from '../../../../src/core/launchers/launcher-run';
import { toTrainedModel } from '../../../../src/core/run/written-model';
import { writerOf } from '../export/launchers/editors';
import { planWith } from '../export/launchers/plans';
import { shellReader } from './shell/shell-reader';
import { yamlReaders } from './tables/yaml-readers';

describe('the norms of latent attention', () => {
  const latent = { qRank: 1536, kvRank: 512, nopeHeadDim: 128, ropeHeadDim: 64, vHeadDim: 128 };
  const model: ModelSpec = { ...planWith().model, latent };

  it('exist only with qk_layernorm of Megatron Core, which then norms no heads', async () => {
    const script = newLauncher(planWith({ model }), writerOf('megatron-shell'));
    const overrides = newLauncher(planWith({ model }), writerOf('megatron-bridge'));
    assert.match(script.text, /\n {2}--qk-layernorm\n/);
    assert.match(overrides.text, /\n {2}qk_layernorm: true\n/);
    const files = [(await shellReader())(script.fileName, script.text), yamlReaders['megatron-bridge'](overrides.fileName, overrides.text)];
    for (const launcher of files) {
      const back = toTrainedModel(runOfLauncher(launcher, 'run', null));
      assert.deepEqual([back.qkNorm, back.latent], [false, latent]);
    }
  });
});
