import assert from 'node:assert/strict';
import fc from 'fast-check';
import { candidateSpecs } from '../../src/core/planner/candidates/candidate-specs';
import { buildPipeline } from '../../src/core/planner/predict/pipeline';
import { measure } from '../../src/core/planner/predict/predict';
import type { PlanRequest } from '../../src/core/domain/request';
import { slicedStepTime } from '../../src/core/planner/candidates/terapipe-time';
import { cases } from './cases';
import { drawnRuns, requestOfDrawn } from './random-runs';
import { toText } from '../unit/sentence-text';

const runs = cases(15, 600);
const near = 1e-9;

/** Runs of TeraPipe: stages, no virtual ones. */
const sliced = drawnRuns
  .filter(({ pipeline, virtualStages }) => pipeline > 1 && virtualStages === 1)
  .map((drawn) => requestOfDrawn({ ...drawn, schedule: null }));

function terapipe(request: PlanRequest) {
  const pipeline = buildPipeline(request);
  const specs = candidateSpecs(request, pipeline, {}).specs.filter(({ kind }) => kind.schedule === 'TeraPipe');
  const measured = specs.map((spec) => ({ spec, measured: measure(pipeline, spec) }));
  const [best] = measured;
  assert.ok(best?.spec.id === 'terapipe');
  return { pipeline, best, measured };
}

describe("TeraPipe's cut", () => {
  it(`is simulated in one go as slowly as its schedule is, and the fastest of those known, with a unit half as long too, on ${runs} random runs`, function () {
    this.timeout(0);
    const judged = new Map<string, number>();
    fc.assert(
      fc.property(sliced, (request) => {
        const { pipeline, best, measured } = terapipe(request);
        const timeMs = slicedStepTime(pipeline);
        for (const { spec, measured: own } of measured) {
          const stepMs = own.pipelineMs + own.gradientExchangeMs;
          assert.ok(Math.abs(timeMs(spec.scheme) / stepMs - 1) < near, `${toText(spec.name)}: ${timeMs(spec.scheme)} and ${stepMs}`);
          if (own.fits === best.measured.fits) assert.ok(best.measured.iterationMs <= own.iterationMs * (1 + near), toText(spec.name));
          assert.ok(best.measured.fits || !own.fits, toText(spec.name));
        }
        const { certificate } = best.spec;
        assert.ok(certificate !== null);
        const isProved = toText(certificate.note).startsWith('proved optimal for');
        if (isProved) assert.ok(Math.abs(best.measured.pipelineMs / certificate.lowerBoundMs - 1) < 1e-6);
        const how =
          (toText(certificate.note).split(/ for |;/)[0] ?? '') + (toText(certificate.note).includes('and taken') ? ', another taken' : '');
        judged.set(how, (judged.get(how) ?? 0) + 1);
        const unit = (request.slicing.unit ?? 0) / 2;
        const finer = terapipe({ ...request, slicing: { unit, scheme: null } }).best.measured;
        assert.ok(finer.fits || !best.measured.fits);
        if (finer.fits === best.measured.fits)
          assert.ok(
            finer.iterationMs <= best.measured.iterationMs * (1 + near),
            `${finer.iterationMs} with units of ${unit}, ${best.measured.iterationMs}`,
          );
      }),
      { numRuns: runs, seed: 16 },
    );
    for (const [how, count] of judged) console.log(`      ${count} ${how}`);
  });
});
