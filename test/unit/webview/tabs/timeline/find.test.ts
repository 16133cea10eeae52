import assert from 'node:assert/strict';
import { findRows, nextMatch, parseQuery } from '../../../../../webview/tabs/timeline/find';
import { indexOperations, operationAt, type Operation, type Operations } from '../../../../../webview/base/operations';
import { operationName } from '../../../../../webview/charts/lanes/labels';
import { timelineOf } from '../../timelines';

type Query = Parameters<typeof findRows>[1];

function findNext(operations: Operations, query: Query, after: number, direction: 1 | -1 = 1): Operation | null {
  const rows = findRows(operations, query);
  const index = nextMatch(rows, after, direction);
  return index < 0 ? null : operationAt(operations, rows[index]!);
}

describe('find', () => {
  it('reads words, short words and bare numbers', () => {
    assert.deepEqual(parseQuery('Stage 3, micro-batch 0, slice 4 backward'), { stage: 3, microBatch: 0, slice: 4, kind: 1 });
    assert.deepEqual(parseQuery('st3 mb1 sl2 f'), { stage: 3, microBatch: 1, slice: 2, kind: 0 });
    assert.deepEqual(parseQuery('3 0 4'), { stage: 3, microBatch: 0, slice: 4 });
    assert.deepEqual(parseQuery('slice 7'), { slice: 7 });
    assert.deepEqual(parseQuery('chunk 3 mb 2 weight gradient'), { chunk: 3, microBatch: 2, kind: 3 });
    assert.deepEqual(parseQuery('st1 input backward'), { stage: 1, kind: 2 });
    assert.deepEqual(parseQuery('c0 w'), { chunk: 0, kind: 3 });
  });

  it('reports when it understands nothing', () => {
    for (const text of ['', 'stage', 'constructor 3', 'stage 1 stage 2', '1 2 3 4', 'wat']) assert.equal(parseQuery(text), null, text);
  });

  it('goes from match to match and round again', () => {
    const operations = indexOperations(timelineOf('GPipe', [[2, 2], [2]], 2));
    const first = findNext(operations, { slice: 1, kind: 0 }, -1)!;
    const second = findNext(operations, { slice: 1, kind: 0 }, first.row)!;
    assert.deepEqual([first.stage, second.stage], [0, 1]);
    assert.equal(findNext(operations, { slice: 1, kind: 0 }, second.row)!.row, first.row);
    assert.equal(findNext(operations, { slice: 1, kind: 0 }, second.row, -1)!.row, first.row);
    assert.equal(findNext(operations, { slice: 1, kind: 0 }, first.row, -1)!.row, second.row);
    assert.equal(findRows(operations, { slice: 1 }).length, 4);
    assert.equal(findNext(operations, { stage: 9 }, -1), null);
    const split = indexOperations(timelineOf('ZBVZeroBubble', [[2], [2], [2]], 2, 2));
    const nameOf = (query: Query): string => operationName(split, findNext(split, query, -1)!);
    assert.equal(nameOf({ chunk: 3, microBatch: 2, kind: 3 }), 'Weight gradient of micro-batch 2 on stage 0, chunk 3');
    assert.equal(nameOf({ chunk: 2, microBatch: 1, kind: 1 }), 'Input gradient of micro-batch 1 on stage 1, chunk 2');
    assert.equal(findNext(operations, { kind: 2 }, -1), null);
    assert.equal(findNext(operations, { stage: 1, microBatch: 1 }, -1)!.unit.microBatch, 1);
  });
});
