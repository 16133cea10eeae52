import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { errors } from '../../golden/rows';
import {
  longerRows,
  planSpeedUps,
  readTeraPipeSamples,
  speedUps,
  terapipePlan,
  terapipeRequest,
  terapipeSamples,
  terapipeSettings,
} from '../../golden/terapipe';

describe("the samples of TeraPipe's paper", () => {
  before(readTeraPipeSamples);

  it('are its ten settings, and the fifth with longer sequences', () => {
    const names = readdirSync(terapipeSamples).filter((name) => name.endsWith('.terapipe.json'));
    assert.equal(names.length, 13);
    for (const setting of terapipeSettings) {
      const { model, training, layout, cluster } = terapipeRequest(setting);
      const { layers, hidden, batch, data, pipeline, tensor } = setting;
      assert.deepEqual([model.layers, model.hidden, training.globalBatch], [layers, hidden, batch], `${setting.setting}`);
      assert.deepEqual([layout.data, layout.pipeline, layout.tensor], [data, pipeline, tensor], `${setting.setting}`);
      assert.equal(cluster.nodes * cluster.gpusPerNode, data * pipeline * tensor);
    }
  });

  it("take what TeraPipe's runtime does for granted: no ZeRO, no sequence parallelism, and gradients in fp16", () => {
    for (const setting of terapipeSettings) {
      const { zeroStage, sequenceParallel, gradAccumulationFp32 } = terapipeRequest(setting).training;
      assert.deepEqual([zeroStage, sequenceParallel, gradAccumulationFp32], [0, false, false]);
    }
  });

  it('gain from the slices of the paper what it measured, to 7 % on average', () => {
    const { mean } = errors(speedUps());
    assert.ok(mean < 0.07, `${mean}`);
  });

  it('gain from our own slices what the paper measured with its own, to 7 % on average', () => {
    const { mean } = errors(planSpeedUps());
    assert.ok(mean < 0.07, `${mean}`);
  });

  it('are not slower in our own slices than in those of the paper', () => {
    for (const { setting, predicted } of speedUps()) {
      const row = terapipeSettings.find((one) => one.setting === setting);
      assert.ok(row);
      const plan = terapipePlan(row);
      const whole = plan.candidates.find(({ id }) => id === 'whole');
      const chosen = plan.candidates.find(({ id }) => id === plan.chosen);
      assert.ok(whole && chosen && whole.iterationMs / chosen.iterationMs >= predicted * (1 - 1e-9), `${setting}`);
    }
  });

  it('take as long with whole sequences of 4,096 to 8,192 tokens as measured, to 5 %', () => {
    for (const { tokens, whole } of longerRows()) assert.ok(Math.abs(whole.predicted / whole.measured - 1) < 0.05, `${tokens}`);
  });
});
