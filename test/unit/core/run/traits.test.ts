import assert from 'node:assert/strict';
import { frequencyPattern, readModelTraits } from '../../../../src/core/run/traits';
import type { Facts } from '../../../../src/core/run/facts';

const fact = <T>(value: T) => ({ value, source: { kind: 'override' } as const });

describe("Megatron's --moe-layer-freq", () => {
  it('is a period from the first layer, or a list expression', () => {
    assert.deepEqual(frequencyPattern('1', 3), [1, 1, 1]);
    assert.deepEqual(frequencyPattern('2', 4), [1, 0, 1, 0]);
    assert.deepEqual(frequencyPattern('([0]*1+[1]*3)*1', 4), [0, 1, 1, 1]);
    assert.deepEqual(frequencyPattern('[0, 1] * 2 + [1]', 5), [0, 1, 0, 1, 1]);
    assert.deepEqual(frequencyPattern('([0]+([1]*2)*2)', 5), [0, 1, 1, 1, 1]);
  });

  it('is nothing that is neither, and never runs away', () => {
    for (const written of [
      '',
      'x',
      '[0',
      '[2]*3',
      '([0]*3',
      '[0]*',
      '[1]*99999999',
      '([1]*9999)*9999',
      '[0]**2',
      '[]',
      '('.repeat(1990),
      '('.repeat(20_000),
    ])
      assert.equal(frequencyPattern(written, 4), null, written.slice(0, 20));
  });
});

describe('traits of a model', () => {
  const sizes: Facts = { layers: fact(6), ffn: fact(1024) };

  it('are none for layers that are alike', () => {
    assert.deepEqual(readModelTraits(sizes), {});
    assert.deepEqual(readModelTraits({ ...sizes, experts: fact(8), moeLayerFrequency: fact('1') }), {});
  });

  it('report dense layers by every key that makes some, joined', () => {
    const dense = (facts: Facts) =>
      readModelTraits({ ...sizes, experts: fact(8), ...facts })
        .layerKinds?.map(({ feedForward }) => (feedForward === 'dense' ? 'd' : 'e'))
        .join('');
    assert.equal(dense({ firstDenseLayers: fact(2) }), 'ddeeee');
    assert.equal(dense({ decoderSparseStep: fact(3) }), 'ddedde');
    assert.equal(dense({ moeLayerFrequency: fact('([0]*1+[1]*5)') }), 'deeeee');
    assert.equal(dense({ denseLayers: fact([5]), firstDenseLayers: fact(1) }), 'deeeed');
  });

  it('limit routing to groups of experts where they are fewer than there are', () => {
    const groups = (experts: number, count: number, active: number) =>
      readModelTraits({ experts: fact(experts), routerGroups: fact(count), routerGroupTopk: fact(active) }).experts?.groups;
    assert.deepEqual(groups(256, 8, 4), { count: 8, active: 4 });
    assert.equal(groups(384, 1, 1), undefined);
    assert.equal(groups(250, 8, 4), undefined);
  });

  it('take the width of shared experts as given, or from their number and the width of one', () => {
    const shared = (facts: Facts) => readModelTraits({ ...sizes, expertFfn: fact(256), ...facts }).experts?.sharedFfn;
    assert.equal(shared({ sharedExperts: fact(2) }), 512);
    assert.equal(shared({ sharedExperts: fact(2), sharedExpertFfn: fact(640) }), 640);
    assert.equal(shared({}), undefined);
  });

  it('give windows to the layers that slide', () => {
    const windows = (facts: Facts) =>
      readModelTraits({ ...sizes, slidingWindow: fact(128), slidingWindowActive: fact(true), ...facts }).layerKinds?.map(
        ({ window }) => window,
      );
    assert.deepEqual(windows({}), [128, 128, 128, 128, 128, 128]);
    assert.deepEqual(windows({ attentionKinds: fact(['sliding_attention', 'full_attention']) })?.slice(0, 3), [128, null, null]);
    assert.equal(windows({ slidingWindowActive: fact(false) }), undefined);
  });
});
