import assert from 'node:assert/strict';
import { bestRound } from '../../../../src/core/slicing/rounds';
import { tabulatedRows } from '../../../../src/core/slicing/tabulated-rows';

describe('the best round of few slices', () => {
  for (const [name, ms] of [
    ['all slices take', () => 0],
    ['only whole sequences take', (length: number) => (length === 4 ? 0 : 1)],
  ] as const)
    it(`is proved in a few thresholds where ${name} no time`, () => {
      const problem = { batch: 2, tokens: 4, unit: 1, stages: 3, cost: (_: number, length: number) => ms(length) };
      const kinds = [tabulatedRows(problem, 1, undefined, Infinity)];
      for (const weight of [0, 2]) {
        const { plan, boundMs, evaluations } = bestRound({ kinds, weight, maximumSlices: 3, maximumEvaluations: 1000 }, 2, undefined);
        assert.equal(plan?.objectiveMs, 0);
        assert.equal(boundMs, 0);
        assert.ok(evaluations < 5, `${evaluations} thresholds`);
      }
    });
});
