import assert from 'node:assert/strict';
import { asTsv } from '../../../webview/shared/table-text';
import { operationRows } from '../../../webview/charts/lanes/dependencies';
import { pageAround } from '../../../webview/base/pages';
import { indexOperations } from '../../../webview/base/operations';
import { busiestStage, groupScheme, schemeText, sliceRows } from '../../../webview/tabs/slices/groups';
import { timelineOf } from './timelines';

describe('tables', () => {
  it('are cut into pages that hold the row asked for', () => {
    assert.deepEqual(pageAround(120, 205, 50), { first: 100, end: 150, total: 205 });
    assert.deepEqual(pageAround(9999, 205, 50), { first: 200, end: 205, total: 205 });
    assert.deepEqual(pageAround(0, 0, 50), { first: 0, end: 0, total: 0 });
  });

  it('list the operations of a stage in time order with the idle time before each', () => {
    const operations = indexOperations(timelineOf('GPipe', [[4], [4]], 2));
    const rows = operationRows(operations, 1, pageAround(0, 4, 50));
    assert.deepEqual(
      rows.map(({ operation, idleBeforeMs }) => [operation.kind === 0, idleBeforeMs]),
      [
        [true, 4],
        [true, 0],
        [false, 0],
        [false, 0],
      ],
    );
  });

  it('keep tabs and line breaks inside cells out of the copied text', () => {
    assert.equal(
      asTsv([
        ['a\tb', 1],
        ['c\nd', 2],
      ]),
      'a b\t1\nc d\t2\n',
    );
  });
});

describe('slices', () => {
  const scheme = [
    { batch: 1, tokens: [120, 120, 112, 64] },
    { batch: 1, tokens: [120, 120, 112, 64] },
    { batch: 2, tokens: [416] },
  ];

  it('are written as the paper writes them, with runs and repeats shortened', () => {
    assert.equal(schemeText(groupScheme(scheme)), '[(1, [120 × 2, 112, 64])] × 2 + [(2, [416])]');
  });

  it('of 10,000 equal micro-batches are one group', () => {
    const groups = groupScheme(Array.from({ length: 10_000 }, () => ({ batch: 1, tokens: [2048] })));
    assert.deepEqual(groups, [{ chunk: { batch: 1, tokens: [2048] }, times: 10_000, firstUnit: 0 }]);
  });

  it('carry their context and their times on one stage', () => {
    const rows = sliceRows([{ batch: 1, tokens: [5, 3] }], timelineOf('TeraPipe', [[5, 3]], 2), 1);
    assert.deepEqual(
      rows.map(({ tokens, context, forwardMs, backwardMs }) => [tokens, context, forwardMs, backwardMs]),
      [
        [5, 0, 5, 10],
        [3, 5, 3, 6],
      ],
    );
    assert.equal(sliceRows(scheme, null, 0)[0]!.forwardMs, null);
  });

  it('are timed on the busiest stage', () => {
    assert.equal(busiestStage(Float64Array.of(3, 9, 4)), 1);
    assert.equal(busiestStage(new Float64Array()), 0);
  });
});
