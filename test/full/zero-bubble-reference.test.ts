import assert from 'node:assert/strict';
import { assertNoLargerBubble, zeroBubbleRows } from '../golden/zero-bubble';

describe('zero-bubble planners compared with those of the Zero Bubble authors', () => {
  it('have no larger bubble under the same limit, in all of their rows, of up to 32 stages and 256 micro-batches', () => {
    const rows = zeroBubbleRows();
    assert.equal(rows.length, 102);
    assertNoLargerBubble(rows);
  });
});
