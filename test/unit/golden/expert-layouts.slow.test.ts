import assert from 'node:assert/strict';
import { expertRows, expertText, medianRegret, unexplained } from '../../golden/expert-layouts';

describe('layouts that experts ran', () => {
  it('are members of their searches, which save little', async () => {
    const rows = await expertRows((name) => ['mtnlg-530b', 'neox-20b', 'nps-077-70b-gb200'].includes(name));
    assert.equal(rows.length, 3);
    for (const { name, fits, expertMs, bestMs, regret, best } of rows) {
      assert.ok(fits, name);
      assert.ok(bestMs <= expertMs && regret < 0.15, `${name}: ${bestMs} ms with ${best}, ${expertMs} ms as launched`);
      assert.doesNotMatch(best, /host|context (4|8)/, name);
    }
    assert.match(expertText(rows), /^layout[^]*mtnlg-530b[^]*median [\d.]+ %, predicted not to fit: 0$/);
    assert.deepEqual(unexplained(rows), []);
    const row = (regret: number) => ({ regret }) as (typeof rows)[number];
    assert.deepEqual([medianRegret([row(0.3), row(0.1), row(0.2)]), medianRegret([row(0.1), row(0.3)])], [0.2, 0.2]);
  });
});
