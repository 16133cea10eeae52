import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { after, before, describe, it } from 'mocha';
import { openCommandLine, type CommandLine } from './command-line';
import { interrupted, longCommands, writeLongInputs } from './long-commands';

describe('a signal', () => {
  let cli: CommandLine;
  before(() => {
    cli = openCommandLine();
    writeLongInputs(cli.folder);
  });
  after(() => cli.dispose());

  for (const [index, { args, began }] of longCommands.entries()) {
    const [signal, status] = index % 2 === 0 ? (['SIGINT', 130] as const) : (['SIGTERM', 143] as const);
    it(`${signal} ends \`${args.join(' ')}\` with ${status}`, async () => {
      const files = readdirSync(cli.folder);
      const { exitCode, signal: killedBy, refused } = await interrupted(cli, args, began, signal);
      assert.deepEqual({ exitCode, killedBy, refused }, { exitCode: status, killedBy: null, refused: false });
      assert.deepEqual(readdirSync(cli.folder), files);
    });
  }

  it('ends at the second time a process whose disk does not answer', async () => {
    const [pipe, hang] = ['pipe', 'hang.cjs'].map((name) => path.join(cli.folder, name));
    assert.equal(spawnSync('mkfifo', [pipe!]).status, 0);
    // Like a file on a network that is gone: a thread of Node.js waits in the system for it, and `exit` for the thread.
    writeFileSync(hang!, `require('node:fs').open(${JSON.stringify(pipe)}, () => {})`);
    const child = spawn(process.execPath, ['--require', hang!, await cli.bundle(), 'inspect', '-'], {
      env: { ...process.env, TERAPIPE_DEBUG: '1' },
    });
    await once(child.stderr, 'data');
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const again = setInterval(() => child.kill('SIGINT'), 1000);
    assert.deepEqual(await ended, [null, 'SIGINT']);
    clearInterval(again);
  });
});
