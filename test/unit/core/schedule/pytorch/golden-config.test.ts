import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { actionNames, isPass } from '../../../../../src/core/schedule/pytorch/actions';
import { readScheduleCsv } from '../../../../../src/core/schedule/pytorch/read';
import { readTable } from '../../../../../src/core/schedule/pytorch/table';
import { golden } from '../../../../golden/shared';

const shared = path.resolve(import.meta.dirname, '../../../../../../shared');

interface GoldenCase {
  readonly id: string;
  readonly expected: Readonly<Record<string, unknown>>;
}

describe('a schedule of a public project', () => {
  it('gives every fact of its golden row', function () {
    const cases = (golden('configs') as { readonly cases: readonly GoldenCase[] } | null)?.cases ?? [];
    const rows = cases.filter(({ id }) => id.endsWith('.csv') && existsSync(path.join(shared, id)));
    if (rows.length === 0) return this.skip();
    for (const { id, expected } of rows) {
      const text = readFileSync(path.join(shared, id), 'utf8');
      const { table } = readTable(text);
      const passes = table.type.filter(isPass);
      const { problems, schedule } = readScheduleCsv(text, id);
      assert.ok(schedule !== null, JSON.stringify(problems[0]));
      const found = {
        ranks: schedule.stages,
        max_cols: Math.max(...table.positions.column) + 1,
        n_ops: passes.length,
        op_kinds: [...new Set(passes)].map((type) => actionNames[type]).sort(),
        stages: schedule.stageOfChunk.length,
        microbatches: schedule.units.length,
      };
      assert.deepEqual(found, expected);
    }
  });
});
