import assert from 'node:assert/strict';
import { gpuPresets } from '../../../../src/core/cluster/presets';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate } from '../../../../src/core/planner/plan';
import { calibrated } from '../../../../src/core/plan-request/calibrate';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { applyOverrides } from '../../../../src/core/terapipe/overrides';
import { sum } from '../../../../src/core/numbers';
import { ExpectedError } from '../../../../src/core/errors';
import { llama3, request } from '../../../golden/requests';
import { load } from '../config-files/files';
import { toText } from '../../sentence-text';

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
    const before = chosenCandidate(makePlan(wanted)).iterationMs;
    for (const factor of [0.9, 1, 1.4]) {
      const plan = makePlan(calibrated(wanted, factor * before));
      assert.ok(Math.abs(chosenCandidate(plan).iterationMs / (factor * before) - 1) < 1e-4);
    }
  });

  it('carries over to another layout on the same GPUs, and is shown', () => {
    const other = { tensor: 8, pipeline: 1, data: 2, context: 1, expert: 1, virtualStages: 1 };
    const slower = calibrated(wanted, 1.3 * chosenCandidate(makePlan(wanted)).iterationMs);
    assert.ok(
      chosenCandidate(makePlan({ ...slower, layout: other })).iterationMs >
        1.1 * chosenCandidate(makePlan({ ...wanted, layout: other })).iterationMs,
    );
    const { cost } = makePlan(slower);
    assert.equal(cost.errorPercent, 10);
    assert.match(toText(cost.description), /rescaled from [\d.]+, which predicted .* to meet a measured step of/);
    assert.equal(makePlan(wanted).cost.errorPercent, 35);
    assert.equal(slower.calibration?.before, wanted.cluster.gpu.gemmEfficiency);
    assert.equal(slower.calibration.predictedMs, chosenCandidate(makePlan(wanted)).iterationMs);
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
    const plain = chosenCandidate(makePlan(resolveRun(await load({ 'terapipe.json': JSON.stringify(config) }), defaults))).iterationMs;
    const measured = Math.round(1.2 * plain);
    const text = JSON.stringify({ ...config, calibration: { iterationMs: measured } });
    const run = await load({ 'terapipe.json': text });
    assert.ok(Math.abs(chosenCandidate(makePlan(resolveRun(run, defaults))).iterationMs / measured - 1) < 1e-4);
    const set = applyOverrides(run, [`calibration.iterationMs=${Math.round(1.5 * plain)}`]);
    assert.ok(chosenCandidate(makePlan(resolveRun(set, defaults))).iterationMs > 1.4 * plain);
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

  describe('by steps of other runs on the machine', () => {
    const launchedMs = (of: PlanRequest): number => chosenCandidate(makePlan(of)).iterationMs;
    const small = { ...wanted, slicing: { unit: 4096, scheme: null } };
    const acrossNodes = { ...small, layout: { ...small.layout, tensor: 8, pipeline: 1, data: 2 } };
    const machine = (of: PlanRequest, gemmFactor: number, nicFactor: number): PlanRequest => {
      const { gpu, links } = of.cluster;
      return {
        ...of,
        cluster: {
          ...of.cluster,
          gpu: { ...gpu, gemmEfficiency: gpu.gemmEfficiency * gemmFactor },
          links: { ...links, nicEfficiency: links.nicEfficiency * nicFactor },
        },
      };
    };
    const after = (found: PlanRequest, key: string): number => {
      const constant = found.calibration?.constants.find((one) => one.key === key);
      return (constant?.after ?? NaN) / (constant?.before ?? NaN);
    };

    it('takes over most of what they show where nobody measured such a GPU, and less where many did', () => {
      const slower = 1.25 * launchedMs(acrossNodes);
      const unmeasured = launchedMs(calibrated(small, null, [{ iterationMs: slower, request: acrossNodes }])) / launchedMs(small);
      assert.ok(unmeasured > 1.15 && unmeasured < 1.25, String(unmeasured));
      const onMeasured = (of: PlanRequest): PlanRequest => ({ ...of, cluster: { ...of.cluster, gpu: gpuPresets['A100-80GB'].gpu } });
      const known = calibrated(onMeasured(small), null, [
        { iterationMs: 1.25 * launchedMs(onMeasured(acrossNodes)), request: onMeasured(acrossNodes) },
      ]);
      const measured = launchedMs(known) / launchedMs(onMeasured(small));
      // the belief in constants that were fitted is as wide as their error on sources that had no part in the fit
      assert.ok(measured > 1.01 && measured - 1 < 0.75 * (unmeasured - 1), `${measured}, ${unmeasured}`);
      assert.ok((known.calibration?.errorPercent ?? NaN) < (calibrated(small, null, []).calibration?.errorPercent ?? NaN));
    });

    it('distinguishes a slow network from slow GEMMs by runs that use them unlike', () => {
      const training = { ...small.training, zeroStage: 3 as const, microBatch: 1, globalBatch: 16, sequenceLength: 512 };
      const withNetwork = { ...small, training, layout: { ...small.layout, tensor: 1, pipeline: 1, data: 16 } };
      const runs = [acrossNodes, withNetwork, { ...small, layout: { ...small.layout, tensor: 8, pipeline: 2, data: 1 } }];
      const stepsOn = (gemmFactor: number, nicFactor: number) =>
        runs.map((request) => ({ iterationMs: launchedMs(machine(request, gemmFactor, nicFactor)), request }));
      const network = calibrated(small, null, stepsOn(1, 0.4));
      const gemms = calibrated(small, null, stepsOn(0.7, 1));
      const [nic, gemm] = ['cluster.links.nicEfficiency', 'cluster.gpu.gemmEfficiency'] as const;
      assert.ok(after(network, nic) < 0.6 * after(network, gemm));
      assert.ok(after(gemms, gemm) < 0.8 && after(gemms, gemm) < after(gemms, nic));
      const { steps = [] } = gemms.calibration ?? {};
      const off = (of: 'predictedMs' | 'calibratedMs'): number => sum(steps.map((one) => Math.abs(one[of] / one.iterationMs - 1)));
      assert.ok(off('calibratedMs') < 0.3 * off('predictedMs'));
    });

    it('still meets the own step of the run', () => {
      const own = 1.1 * launchedMs(small);
      const found = calibrated(small, own, [{ iterationMs: 1.3 * launchedMs(acrossNodes), request: acrossNodes }]);
      assert.ok(Math.abs(launchedMs(found) / own - 1) < 1e-4);
    });

    it('reads them from terapipe.json, each with what differs from the file, and refuses keys that there are not at their place', async () => {
      const defaults = { gpu: 'H200', nodes: null, gpusPerNode: 8 } as const;
      const config = (set: object): string =>
        JSON.stringify({
          model: { layers: 8, hidden: 4096, heads: 32, gatedMlp: true, vocab: 32000 },
          training: { sequenceLength: 4096, globalBatch: 32, microBatch: 1 },
          layout: { tensor: 2, pipeline: 2, data: 2 },
          schedule: '1F1B',
          slicing: { unit: 4096 },
          calibration: { steps: [{ iterationMs: 2000, set }] },
        });
      const text = config({ 'layout.data': 4, 'layout.pipeline': 4, 'training.microBatch': 2 });
      const { calibration, cluster } = resolveRun(await load({ 'terapipe.json': text }), defaults);
      assert.equal(calibration?.steps.length, 1);
      assert.equal(calibration.iterationMs, null);
      assert.equal(cluster.nodes, 1);
      const wrong = config({ 'layout.tensr': 4 });
      const broken = await load({ 'terapipe.json': wrong });
      assert.throws(
        () => resolveRun(broken, defaults),
        (error: unknown) =>
          error instanceof ExpectedError && error.code === 'override-unknown-key' && wrong.startsWith('[', error.place?.range.start),
      );
    });
  });
});
