import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { summariseSchedule } from '../../../../../src/core/config/torchtitan/schedule-summary';

const shared = path.join(import.meta.dirname, '../../../../../../shared');

interface GoldenCase {
  readonly id: string;
  readonly expected: Readonly<Record<string, unknown>>;
}

describe('schedule CSV', () => {
  it('gives every fact of the golden row', function () {
    const golden = path.join(shared, 'golden/configs.json');
    if (!existsSync(golden)) this.skip();
    const { cases } = JSON.parse(readFileSync(golden, 'utf8')) as { cases: GoldenCase[] };
    const rows = cases.filter(({ id }) => id.startsWith('configs/') && id.endsWith('.csv'));
    assert.ok(rows.length > 0);
    for (const { id, expected } of rows) {
      const summary = summariseSchedule(readFileSync(path.join(shared, id), 'utf8')) ?? assert.fail(id);
      const { ranks, columns, actions, kinds, stages, microBatches } = summary;
      assert.deepEqual({ ranks, max_cols: columns, n_ops: actions, op_kinds: kinds, stages, microbatches: microBatches }, expected);
    }
  });

  it('counts idle cells as columns, communication as nothing, and overlapped computations as two', () => {
    const text = '\uFEFF0F0,,0SEND_F0,0B0\r\n\r\n,1RECV_F0,1F0, (1B0;1F1)OVERLAP_F_B ,1UNSHARD\n';
    assert.deepEqual(summariseSchedule(text), { ranks: 2, columns: 5, actions: 5, kinds: ['B', 'F'], stages: 2, microBatches: 2 });
  });

  it('is nothing in other CSV files', () => {
    for (const text of ['', '\n,,\n', 'tokens,ms\n128,0.4\n', '0F0,0F1,2X0', '0UNSHARD', '0F0,"1F0"', `0F0,${'('.repeat(1_000_000)}`])
      assert.equal(summariseSchedule(text), null, text.slice(0, 20));
  });
});
