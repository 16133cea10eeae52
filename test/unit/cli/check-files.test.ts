import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checkAnswer } from '../../../src/cli/answers/check';
import { checkPaths } from '../../../src/cli/checked';
import { shellReader } from '../core/launchers/shell/shell-reader';
import { readReferenced, referencedPath } from '../../../src/cli/read-file';
import type { PrintedFinding } from '../../../src/cli/answer';

const good = '{"model": {"layers": 2, "hidden": 64, "heads": 4}}';
const reading = { sets: [], shell: () => Promise.reject(new Error('no shell here')), withProfile: false };
const defaults = { gpu: 'H100-80GB', nodes: null, gpusPerNode: null } as const;

describe('terapipe check of files that cannot be read', () => {
  let folder: string;
  const at = (name: string): string => path.join(folder, name);
  const write = (name: string, content: string | Buffer): void => {
    mkdirSync(path.dirname(at(name)), { recursive: true });
    writeFileSync(at(name), content);
  };
  /** `FILE CODE SEVERITY` of each finding, the configs that were checked, and the exit status. */
  const check = async (...names: readonly string[]) => {
    const answer = checkAnswer(await checkPaths(names.map(at), reading, defaults, new Map()));
    const { findings, configs } = answer.json as { readonly findings: readonly PrintedFinding[]; readonly configs: readonly string[] };
    const short = (file: string): string => path.relative(folder, file).split(path.sep).join('/');
    return {
      findings: findings.map(({ file, code, severity }) => `${short(file)} ${code} ${severity}`),
      configs: configs.map(short),
      exitCode: answer.exitCode,
    };
  };
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'terapipe-check-'));
    write('z/terapipe.json', good);
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('ends with what a folder holds: what is read as what, what is not planned, and what looks like training and is not read', async () => {
    write('a/config.json', '{"model_type": "llama", "hidden_size": 64}');
    write('a/run.yaml', 'learning_rate: 1e-4\ntrain_batch_size: 8\ntrainer: mine\n');
    write('a/data.yaml', 'name: nothing\n');
    const answer = checkAnswer(await checkPaths([folder], reading, defaults, new Map()), { all: true });
    const lines = answer.text.split('\n');
    const from = lines.findIndex((line) => line.startsWith('Read:'));
    assert.equal(lines[from], 'Read: 1 config.json of Hugging Face, 1 terapipe.json; 2 planned');
    assert.equal(lines[from + 1], 'Not read: 2 .yaml');
    assert.equal(lines[from + 2], `  look like training, of a launcher that is not read, 1: ${at('a/run.yaml')}`);
    const { folder: found } = answer.json as { readonly folder: { readonly planned: number } };
    assert.equal(found.planned, 2);
    const one = checkAnswer(await checkPaths([at('z/terapipe.json')], reading, defaults, new Map()));
    assert.ok(!('folder' in one.json));
  });

  it('finds what is wrong with each, and checks the others', async function () {
    write('binary/terapipe.json', Buffer.from([0x7b, 0xff, 0xfe, 0]));
    write('large/terapipe.json', 'x'.repeat(5 * 2 ** 20 + 1));
    write('nul/terapipe.json', '{"model": "a\\u0000b.json"}');
    write('folder/terapipe.json/terapipe.json', good);
    write('data/junk.json', Buffer.from([0xff, 0xfe, 0]));
    write('data/large.csv', 'x'.repeat(5 * 2 ** 20 + 1));
    const expected = [
      'binary/terapipe.json config-binary error',
      'large/terapipe.json config-too-large error',
      'nul/terapipe.json config-not-found error',
    ];
    if (process.platform !== 'win32') {
      mkdirSync(at('links'));
      symlinkSync('nowhere', at('links/a.terapipe.json'));
      symlinkSync('b.terapipe.json', at('links/b.terapipe.json'));
      symlinkSync('../z/terapipe.json', at('links/c.terapipe.json'));
      expected.push('links/a.terapipe.json config-not-found error', 'links/b.terapipe.json config-unreadable error');
      if (spawnSync('mkfifo', [at('links/pipe.terapipe.json')]).status === 0)
        expected.push('links/pipe.terapipe.json config-unreadable error');
    }
    const { findings, configs, exitCode } = await check('.');
    assert.deepEqual([...findings].sort(), expected.sort());
    assert.deepEqual(configs, ['folder/terapipe.json/terapipe.json', 'nul/terapipe.json', 'z/terapipe.json']);
    assert.equal(exitCode, 1);
  });

  it('warns of files and folders without permission', async function () {
    if (process.platform === 'win32' || process.getuid?.() === 0) this.skip();
    write('secret/terapipe.json', good);
    write('secret/train.yaml', good);
    write('closed/terapipe.json', good);
    for (const name of ['secret/terapipe.json', 'secret/train.yaml', 'closed']) chmodSync(at(name), 0);
    const answer = await check('.');
    chmodSync(at('closed'), 0o700);
    assert.deepEqual(answer.findings.sort(), [
      'closed config-unreadable warning',
      'secret/terapipe.json config-unreadable error',
      'secret/train.yaml config-unreadable warning',
    ]);
  });

  it('keeps the findings of the others where one meets a fault of ours', async () => {
    write('a/train.sh', 'torchrun pretrain_gpt.py --num-layers 2\n');
    write('z/terapipe.json', good.replace('{', '{"constructor": 1, '));
    const { findings, configs, exitCode } = await check('.');
    assert.deepEqual(findings, ['a/train.sh internal error', 'z/terapipe.json unknown-key warning']);
    assert.deepEqual([configs, exitCode], [['a/train.sh', 'z/terapipe.json'], 3]);
  });

  it('checks the other files that are named, and refuses only when there is none', async () => {
    const { findings, configs, exitCode } = await check('missing.json', 'z/terapipe.json', 'z/terapipe.json/x');
    assert.deepEqual(findings, ['missing.json config-not-found error', 'z/terapipe.json/x config-not-found error']);
    assert.deepEqual([configs, exitCode], [['z/terapipe.json'], 1]);
    await assert.rejects(check('missing.json', 'missing-too.json'), { code: 'config-not-found', message: /missing\.json does not exist$/ });
  });

  it('prints five informations of a file and one line for the others, unless all are asked for or they are switched off', async () => {
    const flags = ['num-layers', 'hidden-size', 'num-attention-heads', 'seq-length', 'micro-batch-size', 'global-batch-size', 'lr'];
    const script = `torchrun pretrain_gpt.py --tensor-model-parallel-size $T ${flags.map((flag) => `--${flag} $X`).join(' ')}\n`;
    write('z/train.sh', script);
    const grammar = { ...reading, shell: shellReader };
    const off = new Set(['model-not-planned']);
    const answer = async ({ all = false, off: alsoOff = off } = {}) =>
      checkAnswer(await checkPaths([at('z/train.sh')], { ...grammar, off: alsoOff }, defaults, new Map()), { all });
    const lines = async (shown = {}) => (await answer(shown)).text.split('\n');
    const few = await lines();
    assert.equal(few.filter((line) => line.endsWith('[flag-unknown-value]')).length, 5);
    assert.ok(few.at(-2)?.endsWith('train.sh: 2 more informations: flag-unknown-value (2); --all prints them'), few.join('\n'));
    assert.equal(few.at(-1), '7 findings in 1 config');
    assert.equal((await lines({ all: true })).filter((line) => line.endsWith('[flag-unknown-value]')).length, 7);
    assert.equal(((await answer()).json as { readonly findings: object[] }).findings.length, 7);
    assert.deepEqual(await lines({ off: new Set([...off, 'flag-unknown-value']) }), ['No findings in 1 config']);
    write('z/train.sh', `# terapipe-ignore: flag-unknown-value\n${script}`);
    assert.deepEqual(await lines(), ['No findings in 1 config']);
  });
});

describe('paths that configs name', () => {
  it('lead nowhere when they have a NUL', async () => {
    await assert.rejects(readReferenced('terapipe.json', 'a\0b.json'), { code: 'config-not-found', message: /^a\\u\{0\}b\.json .* NUL$/ });
  });

  it('lie next to the config, and never on another machine', () => {
    const windows = (from: string, name: string) => referencedPath(from, name, path.win32);
    assert.equal(windows('C:\\runs\\terapipe.json', 'config.json'), 'C:\\runs\\config.json');
    assert.equal(windows('C:\\runs\\terapipe.json', 'D:/models/config.json'), 'D:\\models\\config.json');
    assert.equal(windows('\\\\server\\share\\runs\\terapipe.json', '..\\config.json'), '\\\\server\\share\\config.json');
    assert.equal(windows('\\\\server\\share\\terapipe.json', '\\\\SERVER\\share\\config.json'), '\\\\SERVER\\share\\config.json');
    for (const name of ['\\\\evil\\share\\x.json', '//evil/share/x.json', '\\\\.\\pipe\\x', '\\\\?\\UNC\\evil\\share\\x'])
      for (const from of ['C:\\runs\\terapipe.json', '\\\\server\\share\\terapipe.json', '<stdin>'])
        assert.equal(windows(from, name), null, name);
    const here = (name: string) => referencedPath('runs/terapipe.json', name, path.posix);
    assert.deepEqual([here('config.json'), here('//models/config.json'), here('..')], ['runs/config.json', '/models/config.json', '.']);
  });
});
