import assert from 'node:assert/strict';
import fc from 'fast-check';
import { usableGpuBytes } from '../../src/core/layout-search/bounds';
import { createEvaluator, type Evaluator } from '../../src/core/layout-search/evaluate';
import type { SearchPoint } from '../../src/core/layout-search/known';
import { mostSolvedSlices } from '../../src/core/layout-search/solved-slices';
import { cutAlike } from '../../src/core/planner/candidates/makespan-problem';
import type { Prediction } from '../../src/core/planner/predict/predict';
import type { PlanRequest } from '../../src/core/domain/request';
import type { Scheme } from '../../src/core/domain/scheme';
import { gpt, llama3, request } from '../golden/requests';
import { cases } from './cases';

const units = 6;

const drawn = fc.record({
  model: fc.constantFrom(
    (layers: number) => gpt(layers, 2048, 16, 50304, 8192),
    (layers: number) => llama3('70b', layers),
    (layers: number) => ({ ...llama3('70b', layers), hidden: 2048, heads: 16, kvHeads: 4, ffn: 5632, vocab: 0 }),
  ),
  stageLayers: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 2, maxLength: 4 }),
  unit: fc.constantFrom(64, 512, 2048),
  microBatches: fc.integer({ min: 1, max: 4 }),
  microBatch: fc.constantFrom(1, 2),
  attention: fc.constantFrom('flash' as const, 'unfused' as const),
  recompute: fc.constantFrom('none' as const, 'full' as const, 'selective' as const),
  runtime: fc.constantFrom('megatron' as const, 'terapipe' as const),
  schedule: fc.constantFrom('TeraPipe' as const, 'Seq1F1B' as const),
  /** Of the highest peak of a cut: below 1, cuts into few slices do not fit. */
  memory: fc.constantFrom(0.3, 0.7, 0.85, 1.1),
});

/** The request on GPUs on which as much as `share` of the highest peak fits. */
function withMemory(request: PlanRequest, share: number, point: SearchPoint, cuts: readonly Prediction[]): PlanRequest {
  const { gpu } = request.cluster;
  const outsideBytes = gpu.memoryBytes - usableGpuBytes(request, point);
  const peakBytes = Math.max(...cuts.flatMap(({ memory }) => memory.stages.map((stage) => stage.peakBytes)));
  return { ...request, cluster: { ...request.cluster, gpu: { ...gpu, memoryBytes: share * peakBytes + outsideBytes } } };
}

/** Every cut of a sequence at multiples of the unit. */
function everyCut(unit: number): number[][] {
  return Array.from({ length: 2 ** (units - 1) }, (_, mask) => {
    const ends = Array.from({ length: units }, (__, end) => end + 1).filter((end) => end === units || ((mask >> (end - 1)) & 1) === 1);
    return ends.map((end, index) => (end - (ends[index - 1] ?? 0)) * unit);
  });
}

describe('slices solved for a layout', () => {
  it('take no less than their bounds, in time and memory, however a sequence is cut', () => {
    let [closest, met, tight, unmet] = [0, 0, 0, 0];
    fc.assert(
      fc.property(drawn, ({ model, stageLayers, unit, microBatches, microBatch, schedule, memory, ...training }) => {
        const layers = stageLayers.reduce((sum, count) => sum + count, 0);
        const pipeline = stageLayers.length;
        const base = request('A100-80GB', model(layers), {
          training: { ...training, sequenceLength: units * unit, globalBatch: microBatches * microBatch, microBatch },
          layout: { tensor: 1, pipeline, data: 1 },
        });
        const wanted = { ...base, slicing: { unit, scheme: null } };
        const point: SearchPoint = {
          layout: wanted.layout,
          training: wanted.training,
          schedule,
          slices: mostSolvedSlices(wanted),
          solved: true,
          keys: { time: 'all', sliced: 'all', holding: 'all' },
          stageLayers,
        };
        assert.equal(point.slices, units);
        const scheme = (tokens: readonly number[]): Scheme => cutAlike({ microBatches, microBatch }, tokens);
        const predicted = (on: Evaluator): Prediction[] => everyCut(unit).map((tokens) => on.candidate(point, scheme(tokens)));
        const evaluator = createEvaluator(withMemory(wanted, memory, point, predicted(createEvaluator(wanted))));
        const bounds = [evaluator.groupBound(point), evaluator.pointBound(point), evaluator.solvedBound(point)];
        const every = predicted(evaluator);
        const fitting = every.filter(({ fits }) => fits);
        if (fitting.length > 0 && fitting.length < every.length) tight++;
        const leastMs = Math.min(...fitting.map(({ iterationMs }) => iterationMs));
        for (const { iterationMs, peakBytes } of bounds) {
          assert.ok(iterationMs <= leastMs, `${iterationMs} ms above ${leastMs}`);
          for (const { memory } of every) assert.ok(peakBytes <= Math.max(...memory.stages.map((stage) => stage.peakBytes)));
        }
        const found = evaluator.candidate(point);
        // where nothing fits, a cut is found all the same
        if (fitting.length === 0) {
          unmet++;
          for (const { iterationMs } of bounds) assert.ok(iterationMs <= found.iterationMs, `${iterationMs} ms above ${found.iterationMs}`);
          return;
        }
        met++;
        closest += Math.max(...bounds.map(({ iterationMs }) => iterationMs)) / leastMs;
        assert.ok(found.iterationMs >= leastMs * (1 - 1e-9) || schedule === 'TeraPipe');
      }),
      { numRuns: cases(12, 1000), seed: 4 },
    );
    const mean = closest / met;
    assert.ok(tight > 0 && unmet > 0);
    console.log(`      bounds are ${(100 * mean).toFixed(1)} % of the best cut in the mean`);
    assert.ok(mean > 0.85);
  });
});
