import assert from 'node:assert/strict';
import fc from 'fast-check';
import { splitLengths } from '../../../../../src/core/planner/candidates/splits';
import type { Layout, TrainingSpec } from '../../../../../src/core/domain/request';
import type { ModelSpec } from '../../../../../src/core/domain/model';
import { cases } from '../../../../property/cases';

interface Sizes {
  readonly layers: number;
  readonly hidden: number;
  readonly ffn: number;
  readonly heads: number;
  readonly vocab: number;
  readonly tokens: number;
  readonly tensor: number;
}

function cut(rule: 'average' | 'equal-work', slices: number, { layers, hidden, ffn, heads, vocab, tokens, tensor }: Sizes) {
  const model = { layers, hidden, ffn, heads, vocab, headDim: 999, denseFfn: undefined } as unknown as ModelSpec;
  const training = { sequenceLength: tokens, sequenceParallel: tensor > 1 } as TrainingSpec;
  return splitLengths({ model, training, layout: { tensor } as Layout }, { slices, rule, lengths: [] });
}

describe("a runtime's split of a sequence", () => {
  it('of equal work is what the published solver gives', () => {
    // `solve_partition` of megatron/core/pipeline_parallel/split_solver.py at 68934661 run with SymPy 1.14, vocabularies padded
    const golden: readonly (readonly [Sizes, readonly number[]])[] = [
      [{ layers: 32, hidden: 4096, ffn: 16384, heads: 32, vocab: 0, tokens: 32768, tensor: 4 }, [9224, 7180, 6092, 5388, 4884]],
      [{ layers: 24, hidden: 2048, ffn: 8192, heads: 16, vocab: 51200, tokens: 16384, tensor: 1 }, [5416, 4220, 3581, 3167]],
      [
        { layers: 40, hidden: 5120, ffn: 20480, heads: 40, vocab: 50304, tokens: 65536, tensor: 8 },
        [13736, 10416, 8760, 7712, 6968, 6400, 5952, 5592],
      ],
      [{ layers: 12, hidden: 768, ffn: 3072, heads: 12, vocab: 50304, tokens: 4096, tensor: 1 }, [1550, 1343, 1203]],
    ];
    for (const [sizes, lengths] of golden) assert.deepEqual(cut('equal-work', lengths.length, sizes), lengths);
  });

  it('takes every token once in slices that shrink, or is none', () => {
    const sizes = fc.record({
      layers: fc.integer({ min: 1, max: 128 }),
      hidden: fc.integer({ min: 1, max: 64 }).map((heads) => heads * 128),
      ffn: fc.integer({ min: 64, max: 60_000 }),
      heads: fc.constantFrom(1, 8, 32),
      vocab: fc.integer({ min: 0, max: 200_000 }),
      tokens: fc.integer({ min: 16, max: 131_072 }),
      tensor: fc.constantFrom(1, 2, 8),
    });
    fc.assert(
      fc.property(sizes, fc.integer({ min: 2, max: 64 }), (given, slices) => {
        const work = cut('equal-work', slices, given);
        const equal = cut('average', slices, given);
        const step = given.tensor;
        assert.equal(equal === null, given.tokens % (slices * step) !== 0);
        for (const lengths of [work, equal]) {
          if (lengths === null) continue;
          assert.equal(lengths.length, slices);
          assert.equal(
            lengths.reduce((sum, length) => sum + length, 0),
            given.tokens,
          );
          assert.ok(lengths.every((length) => length > 0 && length % step === 0));
        }
        if (work !== null)
          assert.ok(
            work.slice(1).every((length, index) => length <= (work[index] ?? 0) + step),
            String(work),
          );
      }),
      { numRuns: cases(300, 5000), seed: 19 },
    );
  });
});
