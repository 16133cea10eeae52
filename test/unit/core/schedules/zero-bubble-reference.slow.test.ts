import assert from 'node:assert/strict';
import { assertNoLargerBubble, zeroBubbleRows } from '../../../golden/zero-bubble';

describe('zero-bubble planners compared with those of the Zero Bubble authors', () => {
  it('have no larger bubble under the same limit, in the rows of up to 8 stages and 16 micro-batches (test/full takes all)', () => {
    const rows = zeroBubbleRows().filter(({ p, m }) => p <= 8 && m <= 16);
    assert.ok(rows.length > 60, `${rows.length} rows`);
    assertNoLargerBubble(rows);
  });
});
