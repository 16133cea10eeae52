import assert from 'node:assert/strict';
import { cutsFor } from '../../../../src/core/layout-search/cuts';
import { createEvaluator } from '../../../../src/core/layout-search/evaluate';
import { searchKeys } from '../../../../src/core/domain/layout-choices';
import { candidateGroups } from '../../../../src/core/layout-search/space';
import type { TrainingSpec } from '../../../../src/core/domain/request';
import { llama3, request } from '../../../golden/requests';

const free = ['tensor', 'pipeline', 'data'];

describe('time bounds of a search', () => {
  const runs: readonly Partial<TrainingSpec>[] = [
    { runtime: 'fsdp1', zeroStage: 3 },
    { runtime: 'deepspeed', zeroStage: 2 },
    { runtime: 'torchtitan', zeroStage: 3, recompute: 'every', recomputeEvery: 3 },
    { runtime: 'torchtitan', zeroStage: 3, recompute: 'op' },
  ];
  for (const training of runs)
    it(`stay below every layout under ${training.runtime} with ZeRO ${training.zeroStage}, recompute ${training.recompute ?? 'none'}`, () => {
      const wanted = request('H100-80GB', llama3('70b', 16), {
        training: { ...training, sequenceLength: 4096, microBatch: 1, globalBatch: 16, attention: 'flash', precision: 'bf16' },
        layout: { tensor: 2, pipeline: 4 },
      });
      const evaluator = createEvaluator(wanted);
      const problem = { request: wanted, fixed: new Set(searchKeys.filter((key) => !free.includes(key))) };
      let evaluated = 0;
      for (const group of candidateGroups(problem))
        for (const stageLayers of cutsFor(problem, group)) {
          const predicted = evaluator.evaluate({ ...group, stageLayers });
          if (typeof predicted !== 'object') continue;
          const { iterationMs } = evaluator.groupBound(group);
          assert.ok(iterationMs <= predicted.iterationMs * (1 + 1e-9), `${stageLayers.join()}: ${iterationMs} > ${predicted.iterationMs}`);
          evaluated++;
        }
      assert.ok(evaluated >= 4);
    });
});
