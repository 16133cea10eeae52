import assert from 'node:assert/strict';
import { evaluatorOf } from '../../../../src/core/layout-search/evaluate';
import { cutsFor } from '../../../../src/core/layout-search/cuts';
import { recomputeText } from '../../../../src/core/layout-search/labels';
import { searchKeys, type SearchKey, type SearchProblem } from '../../../../src/core/layout-search/search-problem';
import { candidateGroups } from '../../../../src/core/layout-search/space';
import type { TrainingSpec } from '../../../../src/core/spec/request';
import { llama3, request } from '../../../golden/requests';

function problem(training: Partial<TrainingSpec>, free: readonly SearchKey[]): SearchProblem {
  const wanted = request('H100-80GB', llama3('70b', 8), {
    training: { attention: 'flash', dropout: false, precision: 'bf16', sequenceLength: 2048, globalBatch: 32, zeroStage: 1, ...training },
    layout: { data: 8 },
  });
  return { request: { ...wanted, schedule: '1F1B' }, fixed: new Set(searchKeys.filter((key) => !free.includes(key))) };
}

describe('a search under other runtimes than Megatron-LM', () => {
  it('recomputes what TorchTitan can', () => {
    const groups = [...candidateGroups(problem({ runtime: 'torchtitan' }, ['recompute']))];
    assert.deepEqual(
      groups.map(({ training }) => recomputeText(training)),
      ['none', 'recompute of operations', 'full recompute'],
    );
    const every = problem({ runtime: 'torchtitan', recompute: 'every', recomputeEvery: 3 }, []);
    assert.deepEqual(
      [...candidateGroups(every)].map(({ training }) => recomputeText(training)),
      ['full recompute of one layer in 3'],
    );
  });

  for (const training of [
    { runtime: 'torchtitan', recompute: 'every', recomputeEvery: 2 },
    { runtime: 'torchtitan', recompute: 'op', compile: true },
    { runtime: 'deepspeed', recompute: 'full', gradAccumulationFp32: false },
    { runtime: 'fsdp1', zeroStage: 3 },
  ] as const)
    it(`has bounds of memory that hold: ${Object.values(training).join(' ')}`, () => {
      const wanted = problem(training, ['pipeline', 'data', 'tensor', 'microBatch']);
      const evaluator = evaluatorOf(wanted.request);
      let points = 0;
      for (const group of candidateGroups(wanted))
        for (const stageLayers of cutsFor(wanted, group)) {
          const point = { ...group, stageLayers };
          const predicted = evaluator.evaluate(point);
          assert.ok(predicted !== 'unmet' && predicted !== 'too-large');
          for (const { peakBytes } of [evaluator.groupBound(group), evaluator.pointBound(point)])
            assert.ok(peakBytes <= predicted.peakBytes, JSON.stringify({ ...point, peakBytes, predicted }));
          points++;
        }
      assert.ok(points >= 4, `${points}`);
    });
});
