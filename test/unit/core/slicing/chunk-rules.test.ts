import assert from 'node:assert/strict';
import { dynamicChunks, equalWorkLengths, sglangRule, forwardWork } from '../../../../src/core/slicing/chunk-rules';
import { goldenRows } from '../../../golden/data';

interface PartitionCase {
  readonly layers: number;
  readonly hidden: number;
  readonly ffn: number;
  readonly heads: number;
  readonly dimHead: number;
  readonly vocab: number;
  readonly seq: number;
  readonly splits: number;
  readonly tp: number;
  readonly partition: readonly number[];
}

describe('slices of equal work', () => {
  it('are those of Seq1F1B to the token', () => {
    const cases = goldenRows('seq1f1b-slices') as readonly PartitionCase[];
    assert.ok(cases.length > 0);
    for (const { seq, splits, tp, dimHead, partition, ...shape } of cases)
      assert.deepEqual(equalWorkLengths(seq, splits, tp, forwardWork({ ...shape, headDim: dimHead })), partition);
  });

  it('are equal slices where attention costs nothing', () => {
    assert.deepEqual(equalWorkLengths(4096, 4, 64, { perToken: 1, perTokenContext: 0 }), [1024, 1024, 1024, 1024]);
  });

  it('are none when there are more of them than multiples', () => {
    assert.equal(equalWorkLengths(256, 8, 64, { perToken: 1, perTokenContext: 0.1 }), null);
  });
});

describe('dynamic chunks', () => {
  it('follow three quarters of the way to a chunk that takes as long as the first', () => {
    // R(L) = L + L^2 / 1000: after 1000 tokens d + d^2 / 1000 + 2 d = 1000 + 1000 gives d = 561.6, and 1000 - 0.75 (1000 - 561.6) = 671.2.
    assert.deepEqual(
      dynamicChunks(4000, 1000, { ...sglangRule, multiple: 1 }, (tokens) => 7 + tokens + tokens ** 2 / 1000).slice(0, 2),
      [1000, 671],
    );
  });

  it('are multiples, never shorter than a quarter of the first, and cover the prompt', () => {
    const chunks = dynamicChunks(100_000, 8192, { ...sglangRule, multiple: 64 }, (tokens) => tokens ** 2);
    assert.ok(chunks.slice(0, -1).every((length) => length % 64 === 0 && length >= 2048));
    assert.equal(
      chunks.reduce((sum, length) => sum + length, 0),
      100_000,
    );
    assert.ok((chunks[20] ?? 0) < (chunks[1] ?? 0));
  });

  it('stay as long where the context costs nothing', () => {
    assert.deepEqual(
      dynamicChunks(4096, 1024, { ...sglangRule, multiple: 64 }, (tokens) => tokens),
      [1024, 1024, 1024, 1024],
    );
  });

  it('are fitted to prompts of at most five quarters of the first chunk, as SGLang times them', () => {
    const asked: number[] = [];
    dynamicChunks(100_000, 8192, { ...sglangRule, multiple: 64 }, (tokens) => (asked.push(tokens), tokens + tokens ** 2));
    assert.equal(Math.max(...asked), 10_240);
  });

  it('are rounded up, and all of the change is followed, where a rule reports it', () => {
    const rule = { smoothing: 1, leastShare: 0.1, multiple: 128, rounding: 'up', fittedShare: 1 } as const;
    // As above: after 1024 tokens d + d^2 / 1000 + 2.048 d = 1024 + 1048.576 gives d = 571.6.
    assert.deepEqual(dynamicChunks(4096, 1024, rule, (tokens) => tokens + tokens ** 2 / 1000).slice(0, 2), [1024, 640]);
  });
});
