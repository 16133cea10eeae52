import assert from 'node:assert/strict';
import { run } from '../harness/processes.mjs';
import { root } from '../harness/setup.mjs';

describe('configs of all formats and the commands that read them', function () {
  this.timeout(0);

  const fuzz = async (...options: readonly string[]): Promise<void> => {
    const args = ['--import', 'tsx', 'test/fuzz/run.ts', ...options];
    const { code, output } = await run(process.execPath, args, { cwd: root, limitMs: 24 * 3_600_000 });
    assert.equal(code, 0, output.slice(-3000));
  };

  it('answer whatever is changed in them, in time and in memory', () => fuzz('--cases', '20000', '--seed', '15'));

  it('answer whichever of their numbers is huge, in time and in memory', () => fuzz('--huge'));
});
