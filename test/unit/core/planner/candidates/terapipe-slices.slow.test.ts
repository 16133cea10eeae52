import assert from 'node:assert/strict';
import { makePlan } from '../../../../../src/core/planner/make-plan';
import { buildPipeline } from '../../../../../src/core/planner/predict/pipeline';
import { slicedSpecs } from '../../../../../src/core/planner/candidates/terapipe-slices';
import { slicingCost } from '../../../../../src/core/planner/candidates/terapipe-cost';
import type { PlanRequest } from '../../../../../src/core/domain/request';
import { schemeLatencyMs } from '../../slicing/latency';
import { solveSlicing, type IncumbentTimes } from '../../../../../src/core/slicing/solve';
import { gpt, llama3, request } from '../../../../golden/requests';
import { toText } from '../../../sentence-text';

function long(sequenceLength: number, unit: number, globalBatch: number, layers = 8): PlanRequest {
  const wanted = request(
    'A100-80GB',
    { ...llama3('70b', 8), layers },
    {
      training: { globalBatch, sequenceLength, attention: 'flash' },
      layout: { tensor: 8, pipeline: 4 },
    },
  );
  return { ...wanted, slicing: { ...wanted.slicing, unit } };
}

function solved(wanted: PlanRequest, onIncumbent?: (incumbent: IncumbentTimes) => void) {
  const [spec] = slicedSpecs(wanted, buildPipeline(wanted), wanted.training.globalBatch, { onIncumbent });
  assert.ok(spec?.certificate);
  return { scheme: spec.scheme, certificate: spec.certificate };
}

/** The same problem without what the planner knows of its cost. */
function optimumMs(wanted: PlanRequest, unit: number, maximumBatchSlice: number): number {
  const { training, layout } = wanted;
  const cost = slicingCost(buildPipeline(wanted));
  return solveSlicing({
    batch: training.globalBatch,
    tokens: training.sequenceLength,
    unit,
    stages: layout.pipeline,
    cost,
    maximumBatchSlice,
  }).latencyMs;
}

function assertSame(a: number, b: number): void {
  assert.ok(Math.abs(a / b - 1) < 1e-9, `${a} and ${b}`);
}

describe('slices of a plan', () => {
  it('are as good with the structure of the cost as from a table of it', () => {
    for (const wanted of [long(32768, 64, 1), long(16384, 64, 2), long(2048, 8, 2), long(16380, 64, 1), long(16384, 64, 1, 10)]) {
      const { certificate } = solved(wanted);
      assert.equal(certificate.lowerBoundMs, certificate.optimumMs);
      assertSame(certificate.optimumMs, optimumMs(wanted, wanted.slicing.unit ?? 0, 2));
    }
  });

  it('are as good with the structure of a table of measured times', () => {
    const costTable = {
      tokens: [64, 256, 1024],
      contexts: [0, 300, 900, 4000],
      forwardMs: [
        [1, 1.1, 1.4, 2],
        [2, 2.3, 3, 4.9],
        [6, 7, 9, 16],
      ],
      backwardMs: [
        [2, 2.2, 2.7, 4],
        [4, 4.6, 6.1, 9],
        [12, 14, 18.5, 31],
      ],
    };
    const wanted = { ...long(4096, 16, 3), costTable };
    assertSame(solved(wanted).certificate.optimumMs, optimumMs(wanted, 16, 1));
  });

  it('are as fine as asked for in sequences too long for a table', () => {
    const { certificate, scheme } = solved(long(2 ** 17, 64, 1));
    assert.match(
      toText(certificate.note),
      /^proved optimal by equation 5 .* multiples of 64 tokens.*; simulated, equal slices are faster by .* and taken$/,
    );
    const cost = slicingCost(buildPipeline(long(2 ** 17, 64, 1)));
    assert.ok(schemeLatencyMs(scheme, 4, cost) >= certificate.optimumMs);
  });

  it('are coarser where nothing is known of the cost', () => {
    const wanted = long(2 ** 17, 64, 1);
    const { note } = solved({ ...wanted, training: { ...wanted.training, attention: 'unfused' } }).certificate;
    assert.match(toText(note), /multiples of 128 tokens/);
  });

  it('come with the baselines, by the same objective', () => {
    const wanted = long(32768, 64, 2);
    const cost = slicingCost(buildPipeline(wanted));
    const { cuts, optimumMs: best, judgedBy } = solved(wanted).certificate;
    assert.deepEqual(
      cuts.map(({ rule }) => rule),
      ['whole', 'uniform', 'equal-work', 'equal-time'],
    );
    for (const { tokens, latencyMs } of cuts) {
      assertSame(
        latencyMs,
        schemeLatencyMs(
          [1, 2].map(() => ({ batch: 1, tokens })),
          4,
          cost,
        ),
      );
      assert.ok(latencyMs >= best * (1 - 1e-12));
    }
    assert.equal(judgedBy, 'simulation');
    const equal = request('A100-80GB', gpt(8, 1024, 16, 0), {
      training: { globalBatch: 2, sequenceLength: 1024 },
      layout: { pipeline: 4 },
    });
    assert.equal(solved(equal).certificate.judgedBy, 'formula');
  });

  it('show how good they are while they are solved for', () => {
    const incumbents: IncumbentTimes[] = [];
    const { certificate } = solved(long(32768, 64, 1), (incumbent) => incumbents.push(incumbent));
    assert.ok(incumbents.length > 1);
    for (const { latencyMs, lowerBoundMs } of incumbents) {
      assert.ok(lowerBoundMs <= certificate.optimumMs * (1 + 1e-9));
      assert.ok(latencyMs >= certificate.optimumMs * (1 - 1e-9));
    }
  });

  it('of equal work make a candidate of Seq1F1B, where they are others', () => {
    const plan = makePlan(long(32768, 128, 2));
    const cut = plan.candidates.find(({ id }) => id === 'terapipe')?.certificate?.cuts.find(({ rule }) => rule === 'equal-work');
    const candidate = plan.candidates.find(({ id }) => id === 'equal-work');
    assert.ok(candidate);
    assert.equal(candidate.schedule, 'Seq1F1B');
    assert.deepEqual(
      candidate.scheme.map(({ tokens }) => tokens),
      [cut?.tokens, cut?.tokens],
    );
  });
});
