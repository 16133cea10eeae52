import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { candidateGroups } from '../../../../src/core/layout-search/space';
import type { SearchKey } from '../../../../src/core/domain/layout-choices';
import { gpt, mixtral, request } from '../../../golden/requests';

const wanted = request('A100-80GB', gpt(32, 4096, 32, 51200), {
  training: { globalBatch: 64 },
  layout: { tensor: 2, pipeline: 4, data: 4 },
});

/** The orders that a search tries with some sizes. */
function orders(fixed: readonly SearchKey[], asked = wanted): string[] {
  const groups = [...candidateGroups({ request: asked, fixed: new Set(['tensor', 'pipeline', 'data', 'context', 'schedule', ...fixed]) })];
  return [...new Set(groups.map(({ layout }) => layout.order ?? 'as usual'))];
}

describe('the order of ranks in a search', () => {
  it('is a choice where stages are smaller than a node, the usual one first', () => {
    assert.deepEqual(orders([]), ['as usual', 'tp-cp-ep-pp-dp']);
    assert.deepEqual(orders([], { ...wanted, layout: { ...wanted.layout, tensor: 8, data: 1 } }), ['as usual']);
  });

  it('stays as files or a launcher have it', () => {
    assert.deepEqual(orders(['order']), ['as usual']);
    assert.deepEqual(orders(['order'], { ...wanted, layout: { ...wanted.layout, order: 'tp-cp-ep-pp-dp' } }), ['tp-cp-ep-pp-dp']);
  });

  it('keeps experts that span replicas with replicas first, as Megatron-LM wants', () => {
    const experts = { ...wanted, model: mixtral(32), layout: { ...wanted.layout, expert: 8, expertTensor: 1 } };
    assert.deepEqual(orders(['expert', 'expertTensor'], experts), ['as usual']);
  });
});
