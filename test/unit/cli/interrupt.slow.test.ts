import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
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
});
