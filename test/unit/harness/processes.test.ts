import assert from 'node:assert/strict';
import { run, start } from '../../harness/processes.mjs';

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function gone(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 40 && isAlive(pid); tries += 1) await new Promise((resolve) => setTimeout(resolve, 25));
  return !isAlive(pid);
}

describe('processes of the harness', () => {
  it('gives both outputs, line by line too, and the exit code', async () => {
    const lines: string[] = [];
    const { code, output, timedOut } = await run('sh', ['-c', 'echo one; printf two >&2; exit 3'], {
      limitMs: 5000,
      onLine: (line) => lines.push(line),
    });
    assert.equal(code, 3);
    assert.equal(timedOut, false);
    assert.match(output, /one/);
    assert.deepEqual(lines.sort(), ['one', 'two']);
  });

  it('answers 127 for a command that is not there', async () => {
    assert.equal((await run('no-such-command-of-ours', [], { limitMs: 5000 })).code, 127);
  });

  it('kills a command and what it started at the time limit', async () => {
    const { output, timedOut } = await run('sh', ['-c', 'sleep 60 & echo $!; sleep 60'], { limitMs: 300 });
    assert.equal(timedOut, true);
    assert.ok(await gone(Number(output.trim())), 'its child is still there');
  });

  it('stops a whole group', async () => {
    const running = start('sh', ['-c', 'sleep 60 & sleep 60']);
    const { pid } = running.child;
    assert.ok(pid !== undefined);
    await running.stop();
    assert.ok(await gone(pid));
    assert.throws(() => process.kill(-pid, 0), 'a member of the group is still there');
  });
});
