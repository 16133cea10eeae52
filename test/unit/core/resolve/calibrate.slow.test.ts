import assert from 'node:assert/strict';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenOf } from '../../../../src/core/planner/plan';
import { calibrated } from '../../../../src/core/resolve/calibrate';
import { resolveRun } from '../../../../src/core/resolve/resolve';
import { applyOverrides } from '../../../../src/core/formats/overrides';
import { ExpectedError } from '../../../../src/core/errors';
import { llama3, request } from '../../../golden/requests';
import { load } from '../formats/files';

const wanted = {
  ...request('H200', llama3('70b', 16), {
    training: { attention: 'flash', precision: 'bf16', sequenceLength: 4096, globalBatch: 32, sequenceParallel: true, zeroStage: 1 },
    layout: { tensor: 4, pipeline: 2, data: 2 },
  }),
  schedule: '1F1B' as const,
  // Slices are not what these tests are about: coarse ones are planned sooner.
  slicing: { unit: 512, scheme: null },
};

describe('calibration by one measured step', () => {
  it('makes the run as launched take the measured time', () => {
    const before = chosenOf(makePlan(wanted)).iterationMs;
    for (const factor of [0.9, 1, 1.4]) {
      const plan = makePlan(calibrated(wanted, factor * before));
      assert.ok(Math.abs(chosenOf(plan).iterationMs / (factor * before) - 1) < 1e-4);
    }
  });

  it('carries over to another layout on the same GPUs, and is shown', () => {
    const other = { tensor: 8, pipeline: 1, data: 2, context: 1, expert: 1, virtualStages: 1 };
    const slower = calibrated(wanted, 1.3 * chosenOf(makePlan(wanted)).iterationMs);
    assert.ok(
      chosenOf(makePlan({ ...slower, layout: other })).iterationMs > 1.1 * chosenOf(makePlan({ ...wanted, layout: other })).iterationMs,
    );
    const { cost } = makePlan(slower);
    assert.equal(cost.errorPercent, 10);
    assert.match(cost.description, /rescaled from 0\.75, which predicted .* to meet a measured step of/);
    assert.equal(makePlan(wanted).cost.errorPercent, 35);
    assert.equal(slower.calibration?.before, 0.75);
    assert.equal(slower.calibration.predictedMs, chosenOf(makePlan(wanted)).iterationMs);
  });

  it('refuses a time that no efficiency gives', () => {
    assert.throws(() => calibrated(wanted, 1), { code: 'calibration-unreachable', message: /faster than H200/ });
    assert.throws(() => calibrated(wanted, 1e9), { code: 'calibration-unreachable', message: /under 2 %/ });
    assert.throws(() => calibrated({ ...wanted, training: { ...wanted.training, microBatch: 3 } }, 1e3), { code: 'calibration-batch' });
  });

  it('is read from terapipe.json and from a setting, and refused at its place', async () => {
    const defaults = { gpu: 'H200', nodes: 1, gpusPerNode: 8 } as const;
    const config = {
      model: { layers: 8, hidden: 4096, heads: 32, gatedMlp: true, vocab: 32000 },
      training: { sequenceLength: 4096, globalBatch: 32 },
      layout: { tensor: 2, pipeline: 2, data: 2 },
      schedule: '1F1B',
      slicing: { unit: 512 },
    };
    const plain = chosenOf(makePlan(resolveRun(await load({ 'terapipe.json': JSON.stringify(config) }), defaults))).iterationMs;
    const measured = Math.round(1.2 * plain);
    const text = JSON.stringify({ ...config, calibration: { iterationMs: measured } });
    const run = await load({ 'terapipe.json': text });
    assert.ok(Math.abs(chosenOf(makePlan(resolveRun(run, defaults))).iterationMs / measured - 1) < 1e-4);
    const set = applyOverrides(run, [`calibration.iterationMs=${Math.round(1.5 * plain)}`]);
    assert.ok(chosenOf(makePlan(resolveRun(set, defaults))).iterationMs > 1.4 * plain);
    const tooFast = JSON.stringify({ ...config, calibration: { iterationMs: 2.5 } });
    const broken = await load({ 'terapipe.json': tooFast });
    try {
      resolveRun(broken, defaults);
      assert.fail('planned');
    } catch (error) {
      assert.ok(error instanceof ExpectedError && error.code === 'calibration-unreachable');
      assert.equal(tooFast.slice(error.place?.range.start, error.place?.range.end), '2.5');
    }
  });
});
