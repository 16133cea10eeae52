import assert from 'node:assert/strict';
import fc from 'fast-check';
import { liveCurve } from '../../src/core/memory-model/curve';
import { cutAlike } from '../../src/core/planner/candidates/makespan-problem';
import { shortestCut, shortestSpec } from '../../src/core/planner/candidates/makespan-cut';
import { buildPipeline } from '../../src/core/planner/predict/pipeline';
import { measure, predict } from '../../src/core/planner/predict/predict';
import { candidatePeakBytes } from '../../src/core/planner/plan';
import type { PlanRequest } from '../../src/core/domain/request';
import type { ScheduleName } from '../../src/core/domain/schedule-names';
import { gpt, request } from '../golden/requests';
import { cases } from './cases';

const effort = { mostSteps: 2e7, mostOperations: 100_000, tolerance: 0 };

/** Every way to cut a sequence of `units` units. */
function cutsOf(units: number, unit: number): number[][] {
  return Array.from({ length: 2 ** (units - 1) }, (_, code) => {
    const cut = [unit];
    for (let at = 1; at < units; at++)
      if ((code >> (at - 1)) & 1) cut.push(unit);
      else cut[cut.length - 1]! += unit;
    return cut;
  });
}

function small(virtualStages: number, pipeline: number, globalBatch: number, units: number): PlanRequest {
  const wanted = request('A100-80GB', gpt(8, 2048, 16, 32000, 65536), {
    training: { sequenceLength: 1024 * units, globalBatch, attention: 'flash', dropout: false, precision: 'bf16' },
    layout: { tensor: 1, pipeline, virtualStages },
  });
  return { ...wanted, slicing: { unit: 1024, scheme: null } };
}

describe('slices under a memory limit', () => {
  for (const [schedule, virtualStages] of [
    ['Seq1F1B', 1],
    ['Seq1F1B-I', 2],
    ['Seq1F1B-ZB', 1],
    ['Seq1F1B-ZB-I', 2],
  ] as const satisfies readonly (readonly [ScheduleName, number])[])
    it(`${schedule}: are the fastest of all cuts that fit, and hold no more than the limit at any time`, () => {
      fc.assert(
        fc.property(
          fc.integer({ min: 2, max: 4 }),
          fc.integer({ min: 1, max: 3 }),
          fc.integer({ min: 3, max: 6 }),
          fc.double({ min: 0, max: 1, noNaN: true }),
          (stages, batch, units, share) => {
            const roomy = small(virtualStages, stages, batch, units);
            const pipeline = buildPipeline(roomy);
            const specOf = (cut: readonly number[]) => {
              const scheme = cutAlike({ microBatches: batch, microBatch: 1 }, cut);
              return { id: 'given', name: schedule, kind: pipeline.schedules[schedule], scheme, certificate: null } as const;
            };
            const tried = cutsOf(units, 1024).map((cut) => ({ cut, found: measure(pipeline, specOf(cut)) }));
            const peaks = tried.map(({ found }) => candidatePeakBytes(found));
            // The capacity at which cuts above this peak no longer fit.
            const limit = Math.min(...peaks) + share * (Math.max(...peaks) - Math.min(...peaks));
            const memoryBytes = 2 ** 30 + Math.ceil(1.02 * limit) + 2 ** 28;
            const tight: PlanRequest = { ...roomy, cluster: { ...roomy.cluster, gpu: { ...roomy.cluster.gpu, memoryBytes } } };
            const limited = buildPipeline(tight);
            const fitting = tried.filter(({ cut }) => measure(limited, specOf(cut)).fits);
            const found = shortestCut(tight, limited, limited.schedules[schedule], { effort, known: [] });
            if (fitting.length === 0) {
              assert.equal(found, null);
              return;
            }
            assert.ok(found !== null, `${fitting.length} of ${tried.length} cuts fit`);
            const bestMs = Math.min(...fitting.map(({ found: { pipelineMs } }) => pipelineMs));
            const { makespanMs, lowerBoundMs } = found.solution;
            assert.ok(
              Math.abs(makespanMs - bestMs) <= 1e-9 * bestMs,
              `${makespanMs} found, ${bestMs} by trying ${fitting.length} that fit`,
            );
            assert.ok(lowerBoundMs <= bestMs * (1 + 1e-9));
            const { timeline, memory } = predict(limited, shortestSpec(tight, limited.schedules[schedule], found));
            assert.ok(timeline !== null);
            for (const { stage, staticBytes, usableBytes } of memory.stages) {
              const { bytes } = liveCurve(timeline, memory.chunks, stage, staticBytes);
              assert.ok(Math.max(...bytes) <= usableBytes, `stage ${stage}: ${Math.max(...bytes)} of ${usableBytes}`);
            }
          },
        ),
        { seed: 24, numRuns: cases(6, 150) },
      );
    });
});
