import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { understand } from '../../../src/cli/arguments';
import type { Command } from '../../../src/cli/command';
import { commonOptions } from '../../../src/cli/common-options';
import { commandHelp, helpText } from '../../../src/cli/help';
import { commands } from '../../../src/cli/registry';

const root = path.resolve(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const documents = { cli: read('docs/cli.md'), json: read('docs/json.md') };
/** Two measure this machine, so that their output differs each time; one speaks a protocol, and one writes a text. */
const withoutExample = ['profile', 'rehearse', 'mcp', 'skill'];

/** What a command lacks to be complete, each with what to do. */
function lacksOf(name: string, { description, options, takes }: Pick<Command, 'description' | 'options' | 'takes'>): string[] {
  const others = Object.entries(commands).filter(([other]) => other !== name);
  const lacks = [
    /^[a-z].*[^.]$/.test(description) ? '' : 'description: say what it answers, without a capital or a full stop',
    documents.cli.includes(`    terapipe ${name} `) ? '' : 'docs/cli.md: add a line to the examples at its head',
    documents.cli.includes(`  ${`${name} ${takes}`.padEnd(16)}${description.slice(0, 40)}`)
      ? ''
      : 'docs/cli.md: run npm run docs -- --write',
    withoutExample.includes(name) || documents.json.includes(`<!-- terapipe ${name} `)
      ? ''
      : 'docs/json.md: add a heading and an example, written by npm run docs -- --write',
  ];
  const ofOptions = Object.entries(options).flatMap(([option, { help, value }]) => [
    help.length > 0 ? '' : `--${option}: say what it does`,
    option in commonOptions ? `--${option} is an option of all commands: name it otherwise` : '',
    ...others.map(([other, { options: theirs }]) =>
      option in theirs && (theirs[option]?.value === undefined) !== (value === undefined)
        ? `--${option} takes a value in ${other} or here: the parser knows one of both`
        : '',
    ),
  ]);
  return [...lacks, ...ofOptions].filter((lack) => lack !== '');
}

describe('commands of the terminal face', () => {
  it('are those of src/cli/commands and of features, each with its line in src/cli/registry.ts', () => {
    const files = ['src/cli/commands', 'src/features'].flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .map((file) => `${folder}/${file}`),
    );
    const defined = files.flatMap((file) =>
      [...read(file).matchAll(/^export const (\w+)Command = defineCommand\(/gm)].map(([, name]) => name),
    );
    assert.deepEqual(Object.keys(commands).sort(), defined.sort());
  });

  for (const [name, command] of Object.entries(commands)) {
    it(`${name} lacks nothing`, () => {
      assert.deepEqual(lacksOf(name, command), []);
    });

    it(`${name} reports its options in its help, and refuses those of others`, () => {
      const help = commandHelp(name);
      assert.match(help, new RegExp(`^Usage: terapipe ${name} ${command.takes.replace(/[.[\]]/g, String.raw`\$&`)} *\\[options\\]`));
      for (const option of [...Object.keys(command.options), ...Object.keys(commonOptions)])
        assert.match(help, new RegExp(`--${option}\\b`));
      for (const [other, { options }] of Object.entries(commands))
        for (const [option, { value }] of Object.entries(options)) {
          if (option in command.options) continue;
          assert.throws(
            () => understand([name, ...(command.takes === '' ? [] : ['file']), `--${option}`, ...(value === undefined ? [] : ['1'])]),
            {
              code: 'usage',
              message: new RegExp(`^--${option} is an option of .*${other}.*, not of ${name}$`),
            },
          );
        }
    });
  }

  it('are missed where something of them is missing', () => {
    assert.deepEqual(
      lacksOf('toy', { takes: 'FILE', description: 'Toys.', options: { json: { help: '' }, compare: { help: 'a flag here' } } }).map(
        (lack) => lack.split(':')[0],
      ),
      [
        'description',
        'docs/cli.md',
        'docs/cli.md',
        'docs/json.md',
        '--json',
        '--json is an option of all commands',
        '--compare takes a value in plan or here',
        '--compare takes a value in profile or here',
      ],
    );
  });

  it('print their own help after --help and help, and all of it without a command', () => {
    const printed = (...args: string[]): unknown => understand(args);
    for (const args of [['--help'], ['help'], ['-h'], ['help', 'nothing'], ['nothing', '--help']])
      assert.deepEqual(printed(...args), { help: helpText() });
    for (const args of [
      ['plan', '--help'],
      ['help', 'plan'],
      ['plan', 'a.json', '--search', '-h'],
    ])
      assert.deepEqual(printed(...args), { help: commandHelp('plan') });
    assert.ok(
      helpText()
        .split('\n')
        .every((line) => line.length <= 92),
    );
  });
});
