import assert from 'node:assert/strict';
import { createQueue } from '../../../src/core/queue';

describe('a queue', () => {
  it('gives entries of one key in the order in which they came, whichever others are left out', () => {
    const all = Array.from({ length: 40 }, (_, index) => ({ key: (index * 7) % 4, index }));
    for (const leftOut of [1, 2, 3, 5, 41]) {
      const kept = all.filter(({ index }) => index % leftOut !== leftOut - 1 || leftOut === 1);
      const queue = createQueue<number>();
      for (const { key, index } of kept) queue.push(key, index);
      const left = kept.map(() => queue.pop()?.entry);
      const expected = kept.toSorted((a, b) => a.key - b.key || a.index - b.index).map(({ index }) => index);
      assert.deepEqual(left, expected, `without every ${leftOut}th`);
      assert.equal(queue.pop(), undefined);
    }
  });
});
