import assert from 'node:assert/strict';
import fc from 'fast-check';
import { megatronStages, pipelineLayoutText, unrolledLayout } from '../../../../../src/core/launchers/megatron/stage-layers';
import { titanStages } from '../../../../../src/core/launchers/torchtitan/stage-layers';

/** Layers of the stages of a Megatron pipeline layout, of a model with `layers` layers. */
function stagesOfLayout(pattern: string, layers: number): readonly number[] | null {
  const given = <T>(value: T) => ({ value, source: { kind: 'override' as const } });
  return megatronStages({ pipelineLayout: given(pattern), pipeline: given(1) }, null, layers);
}

describe("layers of a launcher's stages", () => {
  it("reads the layout of Megatron's DeepSeek-V3 proxy", () => {
    assert.deepEqual(stagesOfLayout('Et*2|(tt|)*5t|tmL', 14), [2, 2, 2, 2, 2, 2, 1, 1]);
  });

  it('unrolls as Megatron does: groups first, stages may be empty, commas mean nothing', () => {
    const documented = stagesOfLayout('Et*3|(tt|)*29,m|L', 61);
    assert.deepEqual(documented, [3, ...Array.from({ length: 29 }, () => 2), 0, 0]);
    assert.deepEqual(stagesOfLayout('E||t|L', 1), [0, 0, 1, 0]);
    assert.deepEqual(stagesOfLayout('E(t*2|)*3L', 6), [2, 2, 2, 0]);
    assert.deepEqual(stagesOfLayout('E|*2tL', 1), [0, 0, 1]);
    assert.equal(stagesOfLayout('E(tt|)tL', 3), null);
  });

  it('reads back any layout that it writes', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(30), { minLength: 1, maxLength: 40 }), fc.nat(2), (layers, mtp) => {
        const sum = layers.reduce((all, each) => all + each);
        fc.pre(sum > 0);
        assert.deepEqual(stagesOfLayout(pipelineLayoutText(layers, mtp), sum), layers);
      }),
      { seed: 8, numRuns: 300 },
    );
  });

  it('takes no other text, nor one that would grow without end', () => {
    assert.deepEqual([stagesOfLayout('Ett|', 2), stagesOfLayout('Ett|x', 2)], [[2, 0], null]);
    assert.deepEqual([stagesOfLayout('Et|', 1), stagesOfLayout('E(t|', 1)], [[1, 0], null]);
    assert.equal(stagesOfLayout(`${'('.repeat(50_000)}t`, 1), null);
    for (const text of ['t*999999|'.repeat(400), '((((t*999999)*999999)*999999)*999999)'])
      assert.equal(unrolledLayout(text), null, text.slice(0, 20));
  });

  it("divides 32 layers as TorchTitan's own example does", () => {
    assert.deepEqual(titanStages(32, 8, 1, 1), [4, 5, 4, 4, 4, 4, 4, 3]);
    assert.deepEqual(titanStages(32, 4, 0, 0), [8, 8, 8, 8]);
    assert.equal(titanStages(3, 4, 0, 0), null);
  });
});
