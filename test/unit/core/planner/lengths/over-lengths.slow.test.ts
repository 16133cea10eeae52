import assert from 'node:assert/strict';
import { percentile } from '../../../../../src/core/planner/lengths/drawn-batches';
import { overLengths } from '../../../../../src/core/planner/lengths/over-lengths';
import { makePlan } from '../../../../../src/core/planner/make-plan';
import { buildPipeline, type Pipeline } from '../../../../../src/core/planner/predict/pipeline';
import { measure } from '../../../../../src/core/planner/predict/predict';
import { sliceWork, equalWorkLengths } from '../../../../../src/core/slicing/chunk-rules';
import type { PlanRequest } from '../../../../../src/core/domain/request';
import type { BatchSlice, Scheme, LengthShare } from '../../../../../src/core/domain/scheme';
import { llama3, request } from '../../../../golden/requests';
import { toText } from '../../../sentence-text';

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function isNear(a: number, b: number): void {
  assert.ok(Math.abs(a - b) <= 1e-9 * Math.max(a, b), `${a} and ${b}`);
}

const wanted = request('H100-80GB', llama3('70b', 8), {
  training: { sequenceLength: 4096, globalBatch: 4, attention: 'flash', precision: 'bf16', dropout: false, sequenceParallel: true },
  layout: { tensor: 8, pipeline: 2 },
});

/** What a step takes on one replica. */
function stepOf(pipeline: Pipeline, schedule: '1F1B' | 'Seq1F1B', scheme: Scheme): number {
  return measure(pipeline, { id: '1f1b', name: schedule, kind: pipeline.schedules[schedule], scheme, certificate: null }).iterationMs;
}

describe('steps of documents of many lengths', () => {
  const lengths: LengthShare[] = [
    { tokens: 1024, count: 3 },
    { tokens: 3072, count: 1 },
  ];

  it('take what all draws of the documents show, one by one', () => {
    const pipeline = buildPipeline(wanted);
    const over = overLengths(wanted, pipeline, lengths);
    assert.ok(over !== null && over.exact && over.draws === 5);
    const [pad, pack] = over.ways;
    assert.ok(pad?.way === 'pad' && pack?.way === 'pack');
    // 3,072 and 1,024 tokens share a pack of 4,096, so do four of 1,024: with n of 3,072 the packs are these.
    const long = { batch: 1, tokens: [4096], documents: [3072, 1024] };
    const packsOf: readonly BatchSlice[][] = [
      [{ batch: 1, tokens: [4096], documents: [1024, 1024, 1024, 1024] }],
      [long, { batch: 1, tokens: [2048], documents: [1024, 1024] }],
      [long, long],
      [long, { batch: 1, tokens: [3072] }, { batch: 1, tokens: [3072] }],
      Array.from({ length: 4 }, () => ({ batch: 1, tokens: [3072] })),
    ];
    const probability = [81, 108, 54, 12, 1].map((ways) => ways / 256);
    const stepsMs = packsOf.map((scheme) => stepOf(pipeline, '1F1B', scheme));
    isNear(pack.expectedMs, sum(stepsMs.map((ms, at) => ms * (probability[at] ?? 0))));
    isNear(
      pack.worstMs,
      percentile(
        stepsMs.map((value, at) => ({ value, probability: probability[at] ?? 0 })),
        0.99,
      ),
    );
    assert.ok(pack.worstMs > pack.expectedMs);
    const padded = stepOf(
      pipeline,
      '1F1B',
      Array.from({ length: 4 }, () => ({ batch: 1, tokens: [4096] })),
    );
    isNear(pad.expectedMs, padded);
    isNear(pad.worstMs, padded);
    isNear(pad.filled, 1536 / 4096);
    isNear(over.meanTokens, 1536);
  });

  it('are the plan for one length where all documents have it', () => {
    const lengths: PlanRequest['training']['lengths'] = [[4096, 7]];
    const plan = makePlan({ ...wanted, training: { ...wanted.training, lengths }, schedule: '1F1B' });
    const usual = plan.candidates.find(({ id }) => id === '1f1b');
    const { ways, exact, draws } = plan.overLengths ?? assert.fail('nothing over lengths');
    assert.ok(exact && draws === 1 && usual !== undefined);
    for (const { way, expectedMs, worstMs } of ways.slice(0, 2)) {
      isNear(expectedMs, usual.iterationMs);
      isNear(worstMs, usual.iterationMs);
      assert.notEqual(way, 'chunks');
    }
    assert.match(toText(plan.reasons[0]), /^a step over 1 length of documents takes /);
  });

  it('are shortest in chunks of the best length that fits, long documents cut and short ones packed', () => {
    const many = {
      ...wanted,
      training: { ...wanted.training, sequenceLength: 32768, globalBatch: 8 },
      layout: { ...wanted.layout, pipeline: 4 },
    };
    const tail = [
      { tokens: 512, count: 60 },
      { tokens: 2048, count: 30 },
      { tokens: 8192, count: 5 },
      { tokens: 32768, count: 10 },
    ];
    const pipeline = buildPipeline(many);
    const [pad, pack, chunks] = overLengths(many, pipeline, tail)?.ways ?? [];
    assert.ok(pad !== undefined && pack !== undefined && chunks !== undefined);
    assert.ok(chunks.expectedMs < pack.expectedMs && pack.expectedMs < pad.expectedMs);
    assert.ok(chunks.chunkTokens < 32768 && chunks.peakBytes < pack.peakBytes);
    assert.ok(chunks.standardErrorMs > 0 && chunks.worstMs > chunks.expectedMs);
  });

  it('run a long document in slices of the chunk length, or of equal work', () => {
    const long = { ...wanted, training: { ...wanted.training, sequenceLength: 32768, globalBatch: 2 } };
    const pipeline = buildPipeline(long);
    const chunks = overLengths(long, pipeline, [{ tokens: 32768, count: 1 }])?.ways.find(({ way }) => way === 'chunks');
    assert.ok(chunks !== undefined && chunks.chunkTokens < 32768);
    const slices = Math.ceil(32768 / chunks.chunkTokens);
    const equal = Array.from({ length: slices }, (_, slice) => Math.min(chunks.chunkTokens, 32768 - slice * chunks.chunkTokens));
    const tokens = chunks.cut === 'equal' ? equal : equalWorkLengths(32768, slices, 64, sliceWork(long.model));
    assert.ok(tokens !== null && chunks.microBatches === 2);
    const scheme = [1, 1].map((batch) => ({ batch, tokens }));
    isNear(chunks.expectedMs, stepOf(pipeline, 'Seq1F1B', scheme));
    assert.ok(
      chunks.expectedMs <=
        stepOf(
          pipeline,
          'Seq1F1B',
          [1, 1].map((batch) => ({ batch, tokens: [16384, 16384] })),
        ),
    );
  });

  it('cut documents that are longer than the training length', () => {
    const over = overLengths(wanted, buildPipeline(wanted), [{ tokens: 10000, count: 1 }]);
    const [pad] = over?.ways ?? [];
    assert.equal(over?.cutShare, 1);
    // 4,096 + 4,096 + 1,808 tokens of each of four documents
    assert.equal(pad?.microBatches, 12);
    isNear(pad.filled, 10000 / (3 * 4096));
  });
});
