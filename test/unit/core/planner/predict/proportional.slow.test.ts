import assert from 'node:assert/strict';
import { makePlan } from '../../../../../src/core/planner/make-plan';
import { buildPipeline } from '../../../../../src/core/planner/predict/pipeline';
import type { PlanRequest } from '../../../../../src/core/domain/request';
import { slicedSpecs } from '../../../../../src/core/planner/candidates/terapipe-slices';
import { slicingStages } from '../../../../../src/core/planner/candidates/terapipe-cost';
import { bruteForce } from '../../../../property/brute-force';
import { gpt, llama3, request } from '../../../../golden/requests';
import { group, onGroups } from '../mixed';
import { toText } from '../../../sentence-text';

const costTable = {
  tokens: [64, 256, 1024],
  contexts: [0, 300, 900, 4000],
  forwardMs: [[1, 1.1, 1.4, 2], [2, 2.3, 3, 4.9], [6, 7, 9, 16]], // prettier-ignore
  backwardMs: [[2, 2.2, 2.7, 4], [4, 4.6, 6.1, 9], [12, 14, 18.5, 31]], // prettier-ignore
};

/** A pipeline of measured slice times, cut as given. */
function tabled(stageLayers: readonly number[] | null, layers = 8, tokens = 1024): PlanRequest {
  const base = request(
    'A100-80GB',
    { ...gpt(layers, 1024, 16, 50304) },
    {
      training: { globalBatch: 2, sequenceLength: tokens },
      layout: { pipeline: stageLayers?.length ?? 4, ...(stageLayers === null ? {} : { stageLayers }) },
    },
  );
  return { ...base, costTable, schedule: 'TeraPipe', slicing: { unit: 128, scheme: null } };
}

function certified(wanted: PlanRequest) {
  const plan = makePlan(wanted);
  const { certificate, pipelineMs } = plan.candidates.find(({ id }) => id === 'terapipe')!;
  assert.ok(certificate);
  return { certificate, pipelineMs };
}

describe('slices over stages that differ', () => {
  it('are equal stages to the solver where a measured table is of every stage', () => {
    assert.equal(slicingStages(buildPipeline(tabled(null)), 128, 1).kind, 'equal');
    const { certificate } = certified(tabled(null));
    assert.match(toText(certificate.note), /^proved optimal for equal stages/);
    assert.equal(certificate.judgedBy, 'formula');
  });

  it('are solved for stages in proportion, which is what the plan takes', () => {
    for (const cut of [
      [3, 1, 1, 3],
      [1, 2, 4, 1],
      [1, 1, 2, 4],
    ]) // prettier-ignore
    {
      const wanted = tabled(cut);
      const stages = slicingStages(buildPipeline(wanted), 128, 1);
      assert.equal(stages.kind, 'proportional');
      const largest = Math.max(...cut);
      stages.factors!.forEach((factor, stage) => assert.ok(Math.abs(factor - cut[stage]! / largest) < 1e-12));
      const { certificate, pipelineMs } = certified(wanted);
      const { cost, factors } = stages;
      const best = bruteForce({ batch: 2, tokens: 1024, unit: 128, stages: 4, cost, maximumBatchSlice: 1, stageFactors: factors! });
      assert.ok(best);
      assert.match(toText(certificate.note), /for stages that take 0.\d+ to 1 times as long/);
      assert.ok(certificate.optimumMs >= best.latencyMs * (1 - 1e-9), `${certificate.optimumMs} and ${best.latencyMs}`);
      assert.ok(certificate.lowerBoundMs <= best.latencyMs * (1 + 1e-9));
      // Forward and backward of a slice stay in one proportion here, so the flow shop of both together is what a simulation takes, except
      // for the slowest of each.
      assert.ok(Math.abs(pipelineMs / certificate.optimumMs - 1) < 0.02, `${pipelineMs} and ${certificate.optimumMs}`);
    }
  });

  it('are solved for stages nearly in proportion on groups of nodes, and simulated', () => {
    const base = request(
      'A100-80GB',
      { ...llama3('70b', 8), layers: 12, vocab: 0 },
      {
        training: { globalBatch: 2, sequenceLength: 16384, attention: 'flash', precision: 'bf16' },
        layout: { tensor: 8 },
      },
    );
    const wanted = {
      ...onGroups(base, [group('H100-80GB', 1), group('H200', 2)], [1, 0, 1], [4, 4, 4]),
      slicing: { unit: 512, scheme: null },
    };
    const stages = slicingStages(buildPipeline(wanted), 512, 1);
    assert.equal(stages.kind, 'nearly');
    const [spec] = slicedSpecs(wanted, buildPipeline(wanted), 2, {});
    assert.match(toText(spec!.certificate!.note), /keep that proportion within .* so the simulation judges it$/);
    assert.equal(spec!.certificate!.judgedBy, 'simulation');
  });

  it('are those of the slowest stage where proportions change with the slice', () => {
    const base = request(
      'A100-80GB',
      { ...llama3('70b', 8), layers: 12 },
      {
        training: { globalBatch: 2, sequenceLength: 8192, attention: 'flash', precision: 'bf16' },
        layout: { tensor: 8 },
      },
    );
    const wanted = {
      ...onGroups(base, [group('H100-80GB', 1), group('V100-32GB', 2)], [1, 0, 1], [3, 6, 3]),
      slicing: { unit: 512, scheme: null },
    };
    assert.equal(slicingStages(buildPipeline(wanted), 512, 1).kind, 'slowest');
    const [spec] = slicedSpecs(wanted, buildPipeline(wanted), 2, {});
    assert.match(
      toText(spec!.certificate!.note),
      /^proved optimal by equation 5 for stages all as slow as the slowest, .*; stages differ, so the simulation judges it; simulated, .* are faster by .* and taken$/,
    );
  });
});
