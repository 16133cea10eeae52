import assert from 'node:assert/strict';
import { fitsOn } from '../../../../../src/core/partition/chunk-order';
import { shortestCut } from '../../../../../src/core/planner/candidates/makespan-cut';
import { buildPipeline } from '../../../../../src/core/planner/predict/pipeline';
import { makePlan } from '../../../../../src/core/planner/make-plan';
import { chosenCandidate } from '../../../../../src/core/planner/plan';
import type { PlanRequest } from '../../../../../src/core/domain/request';
import { gpt, request } from '../../../../golden/requests';
import { toText } from '../../../sentence-text';

const wanted = request('A100-80GB', gpt(16, 4096, 32, 51200, 32768), {
  training: {
    sequenceLength: 32768,
    globalBatch: 6,
    attention: 'flash',
    dropout: false,
    precision: 'bf16',
    recompute: 'none',
    fusedCrossEntropy: true,
    sequenceParallel: true,
  },
  layout: { tensor: 8, pipeline: 4 },
});
const long: PlanRequest = { ...wanted, slicing: { ...wanted.slicing, unit: 1024 } };

function nearly(a: number, b: number): boolean {
  return Math.abs(a - b) <= 1e-9 * Math.max(a, b);
}

describe('slices of the schedule that is asked for', () => {
  it('are those of its own simulated makespan, with the bound on every other cut', () => {
    const plan = makePlan({ ...long, schedule: 'Seq1F1B' });
    const { certificate, pipelineMs, scheme } = chosenCandidate(plan);
    assert.ok(certificate !== null && certificate.judgedBy === 'makespan');
    assert.ok(nearly(certificate.optimumMs, pipelineMs), `${certificate.optimumMs} found, ${pipelineMs} predicted`);
    assert.ok(certificate.lowerBoundMs <= certificate.optimumMs && certificate.lowerBoundMs > 0.9 * certificate.optimumMs);
    for (const { rule, latencyMs } of certificate.cuts) assert.ok(certificate.optimumMs <= latencyMs * (1 + 1e-9), rule);
    assert.ok(scheme.every(({ tokens }) => tokens.join() === scheme[0]!.tokens.join()));
    const [line] = plan.reasons.filter((reason) => toText(reason).startsWith('its slices are'));
    assert.match(toText(line), /proved optimal|at most [\d.]+ % above the best possible/);
  });

  for (const [schedule, name, virtualStages] of [
    ['Seq1F1B', 'Seq1F1B-I', 2],
    ['Seq1F1B-I', 'Seq1F1B-I', 1],
    ['Seq1F1B-ZB', 'Seq1F1B-ZB', 1],
    ['Seq1F1B-ZB', 'Seq1F1B-ZB-I', 2],
  ] as const)
    it(`are those of ${name} where ${schedule} is asked for on ${virtualStages} virtual stages`, () => {
      const coarse = { ...long, schedule, slicing: { ...long.slicing, unit: 4096 }, layout: { ...long.layout, virtualStages } };
      const plan = makePlan(coarse);
      const { certificate, pipelineMs, timeline } = chosenCandidate(plan);
      assert.equal(timeline?.name, name);
      assert.ok(certificate !== null && certificate.judgedBy === 'makespan');
      assert.ok(nearly(certificate.optimumMs, pipelineMs), `${certificate.optimumMs} found, ${pipelineMs} predicted`);
      for (const { rule, latencyMs } of certificate.cuts) assert.ok(certificate.optimumMs <= latencyMs * (1 + 1e-9), rule);
      assert.ok(plan.reasons.some((reason) => /its slices are .*(proved optimal|above the best possible)/.test(toText(reason))));
    });

  it('are not slower than those solved for by equation 5 for the same schedule', () => {
    const asked = chosenCandidate(makePlan({ ...long, schedule: 'Seq1F1B' }));
    const compared = makePlan({ ...long, schedule: 'TeraPipe' }).candidates.find(({ id }) => id === 'Seq1F1B');
    assert.ok(compared?.certificate === null);
    assert.ok(asked.iterationMs <= compared.iterationMs * (1 + 1e-9));
  });

  it('fit the memory that there is, where some do', () => {
    const roomy = chosenCandidate(makePlan({ ...long, schedule: 'Seq1F1B' }));
    const gpu = { ...long.cluster.gpu, memoryBytes: 8.5 * 2 ** 30 };
    const tight: PlanRequest = { ...long, schedule: 'Seq1F1B', cluster: { ...long.cluster, gpu } };
    const found = chosenCandidate(makePlan(tight));
    assert.ok(found.fits);
    assert.ok(found.scheme[0]!.tokens.length > roomy.scheme[0]!.tokens.length);
    assert.ok(found.iterationMs >= roomy.iterationMs);
    assert.match(toText(found.certificate!.note), /5 to 256 of a sequence, as fewer do not fit memory/);
  });

  it('are found where the best of this many slices never fit, with split backward too', () => {
    const gpu = { ...long.cluster.gpu, memoryBytes: 8.1 * 2 ** 30 };
    const tight: PlanRequest = { ...long, cluster: { ...long.cluster, gpu } };
    const pipeline = buildPipeline(tight);
    const found = shortestCut(tight, pipeline, pipeline.schedules['Seq1F1B-ZB'], {
      effort: { mostSteps: 3e7, mostOperations: 400_000, tolerance: 0 },
      known: [],
    });
    assert.ok(found !== null);
    const scheme = Array.from({ length: 6 }, () => ({ batch: 1, tokens: found.lengths }));
    assert.ok(fitsOn(pipeline.chunksOn(pipeline.schedules['Seq1F1B-ZB']), scheme, pipeline.gpuMemory));
    assert.ok(found.solution.lowerBoundMs <= found.solution.makespanMs);
  });
});
