import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Option } from '../../../src/cli/command';
import { commands } from '../../../src/cli/registry';
import { profileText } from '../../../src/core/measured-profile/file';
import { profileWith } from '../core/measured-profile/profiles';
import { openCommandLine, type CommandLine } from './command-line';

/** What the help calls values that are a path, or may be one. */
const paths = ['PATH', 'DIR', 'EXISTING', 'OTHER', 'STEP', 'stageN=F', 'PROFILE', 'TIMES.csv', 'MODEL', 'TO', 'LIST'];
/** What it calls the others. */
const words =
  'KEY=VALUE KEY,... NAME NAME,... NAME[:N],... N N:KEY=V,... RATE MIN MS SECONDS LEVEL CODES FORMAT ENGINE BASE..HEAD nodeN'.split(' ');

/** What a command, or an option of it, is given in addition, so that nothing else is wrong. */
const given: Readonly<Record<string, readonly string[]>> = {
  skill: [],
  oom: ['oom.log', 'ok/terapipe.json'],
  diff: ['ok/terapipe.json', 'ok/terapipe.json'],
  export: ['ok/terapipe.json', '--to', 'svg'],
  'export --into': ['ok/terapipe.json', '--to', 'megatron'],
  elastic: [path.join(import.meta.dirname, '../../../media/samples/pipetransformer/squad.terapipe.json')],
  where: ['ok/terapipe.json', '--on', 'H100-80GB:8'],
  'profile --compare': ['measured.json'],
  'plan --model': ['launch.sh'],
};

/** A run whose model only `--model` names. */
const launcher = 'torchrun --nproc_per_node 8 pretrain_gpt.py --micro-batch-size 1 --global-batch-size 8 --seq-length 128\n';

describe('a named pipe on a command line', () => {
  let cli: CommandLine;
  const write = (name: string, content: string): void => {
    mkdirSync(path.dirname(path.join(cli.folder, name)), { recursive: true });
    writeFileSync(path.join(cli.folder, name), content);
  };

  before(function () {
    cli = openCommandLine();
    if (spawnSync('mkfifo', [path.join(cli.folder, 'pipe.json')]).status !== 0) {
      console.log('      skipped: no mkfifo here');
      this.skip();
    }
    write('ok/terapipe.json', '{"model": {"layers": 2, "hidden": 64, "heads": 4}, "training": {"globalBatch": 8, "sequenceLength": 128}}');
    write('oom.log', 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.\n');
    write('launch.sh', launcher);
    write('measured.json', profileText(profileWith()));
  });
  after(() => {
    cli.dispose();
  });

  /** Each option once, though several commands share it. */
  const options = (): readonly (readonly [command: string, option: string, Option])[] => {
    const seen = new Set<Option>();
    return Object.entries(commands).flatMap(([command, definition]) =>
      Object.entries<Option>(definition.options).flatMap(([option, record]) => {
        if (record.value === undefined || seen.has(record)) return [];
        seen.add(record);
        return [[command, option, record] as const];
      }),
    );
  };

  it('is the value of options whose placeholders the lists above have', () => {
    const unknown = options().flatMap(([command, option, { value = '' }]) =>
      paths.includes(value) === words.includes(value) ? [`${command} --${option} ${value}`] : [],
    );
    assert.deepEqual(unknown, [], 'add the name to paths or to words');
  });

  for (const [command, { takes }] of Object.entries(commands).filter(([name]) => name !== 'mcp' && name !== 'skill'))
    it(`${command} ${takes} refuses it at once`, async () => {
      const others: Readonly<Record<string, readonly string[]>> = {
        diff: ['ok/terapipe.json'],
        export: ['--to', 'svg'],
        max: ['sequence'],
        oom: ['ok/terapipe.json'],
      };
      const { exitCode, err } = await cli.run([command, 'pipe.json', ...(others[command] ?? [])]);
      assert.equal(exitCode, 2, err);
      assert.match(err, /^pipe\.json[^\n]*; [^\n]+\n$/);
    });

  for (const [command, option, { value = '' }] of options())
    it(`${command} --${option} ${paths.includes(value) ? 'refuses it at once' : 'does not open it'}`, async () => {
      const args = given[`${command} --${option}`] ?? given[command] ?? ['ok/terapipe.json'];
      const { exitCode, err } = await cli.run([command, ...args, `--${option}`, 'pipe.json']);
      assert.ok(exitCode === 2 || (exitCode === 0 && !paths.includes(value)), err);
      // one line, which names it
      if (paths.includes(value)) assert.match(err, /^[^\n]*pipe\.json[^\n]*; [^\n]+\n$/);
    });
});
