import assert from 'node:assert/strict';
import { rankingOf } from '../../golden/ranking';
import type { WildRow } from '../../golden/wild';

function row(config: object, seconds: number, predicted: number): WildRow {
  return { case: { config, seconds }, predicted: { iterationMs: 1e3 * predicted } } as unknown as WildRow;
}

describe('the ranking of measured runs', () => {
  it('takes several measurements of one configuration as one choice, at their mean', () => {
    const [a, b] = [{ tensor: 1 }, { tensor: 2 }];
    assert.deepEqual(rankingOf([[row(a, 1.1, 1), row(a, 1.0, 1)]]), { groups: 0, pairs: 0, right: 0, first: 0, worstPick: 0 });
    const picked = rankingOf([[row(a, 1.1, 1), row(a, 0.9, 1), row(b, 1.3, 2)]]);
    assert.deepEqual([picked.groups, picked.pairs, picked.right, picked.first, picked.worstPick], [1, 2, 2, 1, 0]);
    const missed = rankingOf([[row(a, 1.1, 3), row(a, 0.9, 3), row(b, 1.3, 2)]]);
    assert.deepEqual([missed.right, missed.first], [0, 0]);
    assert.ok(Math.abs(missed.worstPick - 0.3) < 1e-12);
  });
});
