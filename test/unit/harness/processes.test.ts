import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { run, start } from '../../harness/processes.mjs';

/** Whether a process still runs; one that is dead but not yet reaped by its parent does not. */
function runs(pid: number): boolean {
  return (
    spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })
      .stdout.trim()
      .replace(/^Z.*/, '') !== ''
  );
}

async function gone(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 40 && runs(pid); tries += 1) await new Promise((resolve) => setTimeout(resolve, 25));
  return !runs(pid);
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

  it('answers 127 for a command that is missing', async () => {
    assert.equal((await run('no-such-command-of-ours', [], { limitMs: 5000 })).code, 127);
  });

  it('kills a command and what it started at the time limit', async () => {
    const { output, timedOut } = await run('sh', ['-c', 'sleep 60 & echo $!; sleep 60'], { limitMs: 300 });
    assert.equal(timedOut, true);
    assert.ok(await gone(Number(output.trim())), 'its child is still there');
  });

  it('stops a whole group', async () => {
    const running = start('sh', ['-c', 'sleep 60 & echo $!; sleep 60']);
    const member = await new Promise<number>((resolve) =>
      running.child.stdout?.once('data', (chunk) => resolve(Number(String(chunk).trim()))),
    );
    assert.ok(runs(member));
    await running.stop();
    assert.ok(await gone(member), 'a member of the group is still there');
  });
});
