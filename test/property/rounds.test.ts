import assert from 'node:assert/strict';
import fc from 'fast-check';
import { buildPipeline } from '../../src/core/planner/predict/pipeline';
import { candidatePeakBytes } from '../../src/core/planner/plan';
import { measure } from '../../src/core/planner/predict/predict';
import { roundsSpec } from '../../src/core/planner/candidates/rounds';
import { slicedSpecs } from '../../src/core/planner/candidates/terapipe-slices';
import { slicingCost } from '../../src/core/planner/candidates/terapipe-cost';
import { chunksPerRound, type Scheme } from '../../src/core/domain/scheme';
import type { PlanRequest } from '../../src/core/domain/request';
import { gpt, llama3, request } from '../golden/requests';
import { bruteForce } from './brute-force';
import { cases } from './cases';

const unit = 512;

const drawn = fc.record({
  model: fc.constantFrom(
    (layers: number) => ({ ...gpt(layers, 2048, 16, 0), maxPositions: 4096 }),
    (layers: number) => ({ ...llama3('70b', layers), vocab: 0 }),
  ),
  stages: fc.constantFrom(2, 3, 4),
  units: fc.integer({ min: 2, max: 4 }),
  batch: fc.integer({ min: 2, max: 4 }),
  share: fc.constantFrom(0, 0.3, 0.5, 0.7, 0.9),
  runtime: fc.constantFrom('terapipe' as const, 'megatron' as const),
});

/** TeraPipe on equal stages, and room for `most` sequences at once, however they are cut. */
function limited(given: typeof drawn extends fc.Arbitrary<infer T> ? T : never): { readonly wanted: PlanRequest; readonly most: number } {
  const { model, stages, units, batch, share, runtime } = given;
  const wanted = request('A100-80GB', model(24 * stages), {
    training: { sequenceLength: units * unit, globalBatch: batch, attention: 'flash', runtime },
    layout: { tensor: 1, pipeline: stages, data: 1 },
  });
  const open = { ...wanted, slicing: { unit, scheme: null } };
  const pipeline = buildPipeline(open);
  const peaks = Array.from({ length: batch }, (_, index) => [...everyPeak(pipeline, index + 1, units)]);
  const most = share < 0.1 ? 0 : Math.min(batch - 1, Math.floor(share * (batch - 1)) + 1);
  const [held, over] = [Math.max(0, ...(peaks[most - 1] ?? [])), Math.min(...(peaks[most] ?? []))];
  const usable = held < over ? (held + over) / 2 : 0;
  // The inverse of what fits: docs/model/memory.md, What fits.
  const memoryBytes = Math.round(usable * 1.05 + 2 ** 30);
  return { wanted: { ...open, cluster: { ...open.cluster, gpu: { ...open.cluster.gpu, memoryBytes } } }, most: usable === 0 ? -1 : most };
}

/** Peaks of all ways to cut `sequences` sequences alike, one by one or all in one chunk. */
function* everyPeak(pipeline: ReturnType<typeof buildPipeline>, sequences: number, units: number): Generator<number> {
  for (let mask = 0; mask < 2 ** (units - 1); mask++) {
    const ends = Array.from({ length: units }, (_, end) => end + 1).filter((end) => end === units || ((mask >> (end - 1)) & 1) === 1);
    const tokens = ends.map((end, index) => (end - (ends[index - 1] ?? 0)) * unit);
    for (const batch of new Set([1, sequences])) {
      const scheme: Scheme = Array.from({ length: sequences / batch }, () => ({ batch, tokens }));
      yield candidatePeakBytes(measure(pipeline, { id: 'given', name: '', kind: pipeline.schedules.TeraPipe, scheme, certificate: null }));
    }
  }
}

describe('TeraPipe in rounds', () => {
  it('is the best of all compositions of the batch and all cuts, within memory', () => {
    let limitedOnes = 0;
    let severalSizes = 0;
    fc.assert(
      fc.property(drawn, (given) => {
        const { wanted, most } = limited(given);
        fc.pre(most >= 0);
        const pipeline = buildPipeline(wanted);
        const [whole] = slicedSpecs(wanted, pipeline, wanted.training.globalBatch, {});
        assert.ok(whole);
        const spec = roundsSpec(wanted, pipeline, wanted.training.globalBatch, whole, {});
        assert.equal(spec === null, most === 0);
        if (spec === null) return;
        const found = measure(pipeline, spec);
        assert.ok(found.fits);
        limitedOnes++;
        const { training, layout } = wanted;
        const { sequenceLength: tokens, globalBatch: batch } = training;
        const least = [0];
        for (let done = 1; done <= batch; done++) {
          const times = Array.from({ length: Math.min(done, most) }, (_, index) => {
            const best = bruteForce({ batch: index + 1, tokens, unit, stages: layout.pipeline, cost: slicingCost(pipeline) });
            return (best?.latencyMs ?? Infinity) + (least[done - index - 1] ?? Infinity);
          });
          least[done] = Math.min(...times);
        }
        const oracleMs = least[batch] ?? 0;
        const rounds = chunksPerRound(found.scheme);
        if (new Set(rounds).size > 1) severalSizes++;
        let first = 0;
        const separate = rounds.map((chunks) => {
          const own = found.scheme.slice(first, (first += chunks));
          const scheme = own.map((chunk) => ({ batch: chunk.batch, tokens: chunk.tokens }));
          assert.ok(scheme.reduce((sum, chunk) => sum + chunk.batch, 0) <= most);
          return measure(pipeline, { id: 'given', name: '', kind: pipeline.schedules.TeraPipe, scheme, certificate: null });
        });
        const sumMs = separate.reduce((sum, { pipelineMs }) => sum + pipelineMs, 0);
        assert.ok(Math.abs(found.pipelineMs / sumMs - 1) < 1e-9, 'rounds add up');
        assert.equal(candidatePeakBytes(found), Math.max(...separate.map(candidatePeakBytes)), 'and hold as much as one');
        assert.ok((found.certificate?.lowerBoundMs ?? Infinity) <= oracleMs * (1 + 1e-9), 'the bound is one');
        // Where sends hold the stages, the time is that of equation 5.
        if (training.runtime === 'terapipe') assert.ok(found.pipelineMs <= oracleMs * (1 + 1e-9), `${found.pipelineMs} above ${oracleMs}`);
      }),
      { numRuns: cases(10, 400), seed: 20 },
    );
    assert.ok(limitedOnes > 0.4 * cases(10, 400), `${limitedOnes} of them limited`);
    assert.ok(severalSizes > 0, 'rounds of unlike sizes are among them');
  });
});
