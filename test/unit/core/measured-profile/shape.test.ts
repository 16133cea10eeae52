import assert from 'node:assert/strict';
import { rankLayerShape } from '../../../../src/core/measured-profile/shape';
import { llama3, mixtral } from '../../../golden/requests';

describe('shape of a layer on one rank', () => {
  it('holds a share of the heads, of each feed-forward network and of the experts', () => {
    const { heads, kvHeads, ffn, hidden, experts } = rankLayerShape(mixtral(1), 2, 4);
    assert.deepEqual([heads, kvHeads, ffn, hidden, experts], [16, 4, 7168, 4096, { count: 2, active: 2 }]);
    assert.deepEqual(rankLayerShape(mixtral(1), 2).experts, { count: 8, active: 2 });
  });

  it('has no experts in a dense model, whatever the expert size', () => {
    assert.equal(rankLayerShape(llama3('70b', 1), 1, 8).experts, null);
  });
});
