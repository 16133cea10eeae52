import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { createEvaluator, type Evaluator } from '../../../../src/core/layout-search/evaluate';
import { createKnownBounds } from '../../../../src/core/layout-search/known';
import { bestFirst } from '../../../../src/core/layout-search/search';
import type { SearchProblem } from '../../../../src/core/layout-search/search-problem';
import { leastSlicesOn, type GridTimes } from '../../../../src/core/layout-search/solved-slices';
import { llama3, request } from '../../../golden/requests';

const units = 7;

/** Times without any order, so that the least is not at an end. */
function grid(seed: number): GridTimes {
  const times = (shift: number): Float64Array =>
    Float64Array.from({ length: (units + 1) ** 2 }, (_, at) => 1 + ((at * 7919 + shift * 104_729 + seed * 1_299_709) % 997));
  return { units, forwardMs: times(1), backwardMs: times(2) };
}

/** Boundaries of every cut into `fewest` slices or more. */
function cutsInto(fewest: number): number[][] {
  const cuts = Array.from({ length: 2 ** (units - 1) }, (_, mask) => [
    0,
    ...Array.from({ length: units - 1 }, (__, inner) => inner + 1).filter((end) => ((mask >> (end - 1)) & 1) === 1),
    units,
  ]);
  return cuts.filter((ends) => ends.length - 1 >= fewest);
}

describe('what no cut of a sequence goes below', () => {
  it('is the least of all cuts into as many slices or more, in whatever order it is asked for', () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const { forwardMs, backwardMs } = grid(seed);
      const least = leastSlicesOn(grid(seed));
      for (const fewest of [3, 1, units, 2, 5]) {
        const sums = cutsInto(fewest).map((ends) =>
          ends.slice(1).reduce((sum, to, index) => {
            const at = (ends[index] ?? 0) * (units + 1) + to;
            return sum + (forwardMs[at] ?? 0) + (backwardMs[at] ?? 0);
          }, 0),
        );
        assert.equal(least(fewest).sumMs, Math.min(...sums), `${fewest} slices`);
      }
    }
  });
});

const wanted = request('A100-40GB', llama3('70b', 8), {
  training: { sequenceLength: 2048, globalBatch: 16, microBatch: 1, zeroStage: 1, attention: 'flash' },
  layout: { tensor: 1, pipeline: 4, data: 1 },
});
const problem: SearchProblem = {
  request: { ...wanted, cluster: { ...wanted.cluster, nodes: 1, gpusPerNode: 4 } },
  fixed: new Set(),
  schedules: ['1F1B', 'TeraPipe', 'Seq1F1B'],
};

/** How many bounds were asked for with their times. */
function counting(evaluator: Evaluator, isAlways: boolean): { readonly evaluator: Evaluator; readonly timed: () => number } {
  let timed = 0;
  const count = <T extends { readonly iterationMs: number }>(bound: T): T => {
    if (bound.iterationMs > 0 && bound.iterationMs < Infinity) timed++;
    return bound;
  };
  return {
    timed: () => timed,
    evaluator: {
      ...evaluator,
      groupBound: (group, isTimed) => count(evaluator.groupBound(group, isAlways ? undefined : isTimed)),
      pointBound: (point, isTimed) => count(evaluator.pointBound(point, isAlways ? undefined : isTimed)),
    },
  };
}

describe('a search', () => {
  for (const bestOnly of [false, true])
    it(`times fewer layouts that do not fit, and finds the same${bestOnly ? ', for the best only' : ''}`, () => {
      const every = counting(createEvaluator(problem.request), true);
      const few = counting(createEvaluator(problem.request), false);
      const [all, found] = [every, few].map(({ evaluator }) => bestFirst(problem, { bestOnly }, evaluator));
      assert.deepEqual(found, all);
      assert.ok((found?.counts.overMemory ?? 0) > 100);
      assert.ok(few.timed() < 0.9 * every.timed(), `${few.timed()} of ${every.timed()}`);
    });

  it('on GPUs of less memory finds the same from what another one knows', () => {
    const { cluster } = problem.request;
    const gpu = { ...cluster.gpu, memoryBytes: 0.8 * cluster.gpu.memoryBytes };
    const smaller = { ...problem, request: { ...problem.request, cluster: { ...cluster, gpu } } };
    const known = createKnownBounds(problem.request);
    bestFirst(problem, {}, createEvaluator(problem.request, known));
    assert.deepEqual(bestFirst(smaller, {}, createEvaluator(smaller.request, known)), bestFirst(smaller));
  });
});
