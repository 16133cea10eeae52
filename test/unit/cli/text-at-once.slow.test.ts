import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import path from 'node:path';
import { commands } from '../../../src/cli/registry';
import { everyText, textAtOnce } from '../../../src/cli/text-at-once';
import { openCommandLine, type CommandLine } from './command-line';

describe('texts that the program prints as the build wrote them', () => {
  let cli: CommandLine;
  before(() => {
    cli = openCommandLine();
  });
  after(() => {
    cli.dispose();
  });

  it('are what is made of the same command line', () => {
    const texts = everyText();
    assert.deepEqual(Object.keys(texts).sort(), [...Object.keys(commands), '', '--version'].sort());
    for (const [name, text] of Object.entries(texts)) assert.equal(textAtOnce(name === '--version' ? [name] : ['help', name]), text, name);
  });

  it('are printed in all spellings, and made where the file of the build is missing', async () => {
    const shared = await cli.bundle();
    // all files of a lane share that one
    const own = path.join(path.dirname(cli.folder), 'program');
    cpSync(path.dirname(shared), own, { recursive: true });
    const bundle = path.join(own, path.basename(shared));
    const print = (args: readonly string[]) => {
      const { status, stdout, stderr } = spawnSync(process.execPath, [bundle, ...args], { encoding: 'utf8', cwd: cli.folder });
      return [status, stdout, stderr];
    };
    const names = ['--help', '-h', 'help', 'help plan', 'plan --help', 'plan -h', 'mcp --help', 'help nothing'];
    const versions = ['--version', '--version --help', '--version -h', 'help --version'];
    const lines = [...names, ...versions].map((line) => line.split(' '));
    const written = lines.map(print);
    for (const [index, args] of lines.entries()) assert.deepEqual(written[index], [0, textAtOnce(args), ''], args.join(' '));
    rmSync(path.join(own, 'help.js'));
    assert.deepEqual(lines.map(print), written);
  });
});
