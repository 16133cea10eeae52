import assert from 'node:assert/strict';
import { run } from '../harness/processes.mjs';
import { root } from '../harness/setup.mjs';

describe('mangled configs of all formats', function () {
  this.timeout(0);

  it('break no reader', async () => {
    const args = ['--import', 'tsx', 'test/fuzz/run.ts', '--cases', '100000', '--seed', '15'];
    const { code, output } = await run(process.execPath, args, { cwd: root, limitMs: 24 * 3_600_000 });
    assert.equal(code, 0, output.slice(-3000));
  });
});
