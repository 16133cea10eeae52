import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { runCommand } from '../../../src/cli/run-command';
import { openCommandLine, type CommandLine, type Outcome } from './command-line';

interface ErrorAnswer {
  readonly version: number;
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly file: string | null;
    readonly line: number | null;
    readonly column: number | null;
  };
}

/** Its timeline is longer than what a pipe holds. */
const bigPlan = `{"model": {"layers": 8, "hidden": 64, "heads": 4}, "cluster": {"gpu": "A100-80GB", "nodes": 1},
  "layout": {"pipeline": 8, "tensor": 1}, "schedule": "1F1B", "training": {"globalBatch": 256, "microBatch": 1}}`;

describe('terapipe on bad input', () => {
  let cli: CommandLine;
  const write = (name: string, content: string | Buffer) => {
    mkdirSync(path.dirname(path.join(cli.folder, name)), { recursive: true });
    writeFileSync(path.join(cli.folder, name), content);
  };
  before(() => {
    cli = openCommandLine();
  });
  after(() => {
    cli.dispose();
  });

  /** Exit 2 and one line on stderr that begins with `place`; with --json, the same as an object on stdout. */
  const check = ({ exitCode, out, err }: Outcome, place: string, code: string) => {
    assert.equal(exitCode, 2, err);
    assert.match(err, /^[^\n]+; [^\n]+\n$/);
    assert.ok(err.startsWith(`${place}: `), err);
    const { version, error } = JSON.parse(out) as ErrorAnswer;
    assert.deepEqual([version, error.code], [1, code]);
    assert.ok(err.includes(error.message));
    if (error.file !== null) assert.equal(place, `${error.file}:${error.line}:${error.column}`);
  };
  const refuses = async (args: readonly string[], place: string, code: string, input?: string) => {
    check(await cli.run([...args, '--json'], input), place, code);
  };
  const file = async (content: string | Buffer, position: string, code: string, name = 'bad/config.json') => {
    write(name, content);
    await refuses(['plan', name], `${name}:${position}`, code);
  };

  it('refuses an empty, binary or cut-off file', async () => {
    await file('', '1:1', 'config-empty');
    await file(Buffer.from([0x1f, 0x8b, 8, 0, 0xff, 0xfe, 0]), '1:1', 'config-binary');
    await file(Buffer.from('model\0'), '1:1', 'config-binary');
    await file('{\n  "model_type": "gpt2",\n  "n_layer": 1', '3:14', 'config-json-syntax');
  });

  it('blames the sizes that leave a fraction of a replica, not the batch', async () => {
    const model = '{ "layers": 12, "hidden": 768, "heads": 12, "vocab": 50257 }';
    await file(
      `{ "model": ${model},\n"cluster": { "gpu": "A100-80GB", "nodes": 1 },\n"layout": { "pipeline": 3, "tensor": 1 },\n"training": { "globalBatch": 5 } }`,
      '3:38',
      'world-size-factor',
      'bad/terapipe.json',
    );
  });

  it('refuses wrong types and impossible numbers at their place', async () => {
    const gpt2 = (layers: string) => `{\n  "model_type": "gpt2",\n  "n_layer": ${layers}\n}`;
    await file(gpt2('"12"'), '3:14', 'config-wrong-type');
    for (const layers of ['-1', '0', '1e308', '9223372036854775808', '1.5']) await file(gpt2(layers), '3:14', 'config-out-of-range');
    await file('{"model_type": "no-such"}', '1:16', 'config-unknown-model-type');
    await file('{"name": "x"}', '1:1', 'config-unknown-format');
    await file('{"model": {"layers": 0, "hidden": 8, "heads": 1}}', '1:22', 'config-out-of-range', 'bad/terapipe.json');
  });

  it('refuses more heads than the hidden size has elements in the words of check', async () => {
    await file(
      '{"model": {"layers": 4, "hidden": 64, "heads": 65},\n"layout": {"pipeline": 2}}',
      '1:48',
      'hidden-heads',
      'bad/terapipe.json',
    );
    const [planned, checked] = [await cli.run(['plan', 'bad/terapipe.json']), await cli.run(['check', 'bad/terapipe.json'])];
    assert.equal(planned.exitCode, 2);
    assert.ok(checked.out.includes(planned.err.replace('bad/terapipe.json:1:48: ', '').trim()), checked.out + planned.err);
  });

  it('refuses files that are missing, too large or unreadable', async function () {
    await refuses(['plan', 'missing.json'], 'missing.json:1:1', 'config-not-found');
    await file(`{"model_type": "gpt2", "x": "${'x'.repeat(50 * 2 ** 20)}"}`, '1:1', 'config-too-large', 'big.json');
    mkdirSync(path.join(cli.folder, 'folder.json'));
    await refuses(['plan', 'folder.json'], 'folder.json:1:1', 'config-not-found');
    symlinkSync('loop.json', path.join(cli.folder, 'loop.json'));
    await refuses(['plan', 'loop.json'], 'loop.json:1:1', 'config-unreadable');
  });

  it('refuses a file without permission', async function () {
    write('secret.json', '{}');
    chmodSync(path.join(cli.folder, 'secret.json'), 0);
    const nobody = process.getuid?.() === 0 ? 65534 : undefined;
    const outcome = await cli.run(['plan', 'secret.json', '--json'], '', nobody).catch(() => null);
    if (outcome === null) {
      console.log('      skipped: root may read everything, and node cannot be run as another user');
      return this.skip();
    }
    check(outcome, 'secret.json:1:1', 'config-unreadable');
  });

  it('places trouble with the model where terapipe.json names it', async () => {
    await file('{\n  "model": "config.json"\n}', '2:12', 'config-not-found', 'no-model/terapipe.json');
    await file('{\n  "model": "terapipe.json"\n}', '2:12', 'config-cycle', 'circle/terapipe.json');
    write('two/b.terapipe.json', '{"model": "terapipe.json"}');
    await file('{\n  "model": "b.terapipe.json"\n}', '2:12', 'config-cycle', 'two/terapipe.json');
    mkdirSync(path.join(cli.folder, 'maze'));
    symlinkSync('.', path.join(cli.folder, 'maze/down'));
    await file('{\n  "model": "down/terapipe.json"\n}', '2:12', 'config-cycle', 'maze/terapipe.json');
    write('broken/config.json', '{"model_type": "gpt2"');
    write('broken/terapipe.json', '{"model": "config.json"}');
    await refuses(['plan', 'broken/terapipe.json'], 'broken/config.json:1:21', 'config-json-syntax');
  });

  it('does not wait for a pipe, whatever names it', async function () {
    const made = spawnSync('mkfifo', [path.join(cli.folder, 'pipe.json')]);
    if (made.status !== 0) {
      console.log('      skipped: no mkfifo here');
      this.skip();
    }
    await file('{"model": "../pipe.json"}', '1:11', 'config-unreadable', 'piped/terapipe.json');
    write('ok/terapipe.json', '{"model": {"layers": 2, "hidden": 64, "heads": 4}}');
    for (const command of [
      'plan',
      'memory',
      'prefill',
      'check',
      'inspect',
      'profile',
      'rehearse',
      'elastic',
      'solve',
      'simulate',
      'export',
    ])
      await refuses([command, 'pipe.json', ...(command === 'export' ? ['--to', 'svg'] : [])], 'pipe.json:1:1', 'config-unreadable');
    for (const options of [
      ['--profile', 'pipe.json'],
      ['--lengths', 'pipe.json'],
      ['--compare', 'pipe.json'],
      ['--measured', 'pipe.json'],
      ['--slow', 'pipe.json'],
    ])
      await refuses(['plan', 'ok/terapipe.json', ...options], 'pipe.json:1:1', 'config-unreadable');
    await refuses(['export', 'ok/terapipe.json', '--to', 'megatron', '--into', 'pipe.json'], 'pipe.json:1:1', 'config-unreadable');
    await refuses(['export', 'ok/terapipe.json', '--to', 'svg', '--out', 'pipe.json'], 'terapipe', 'export-not-saved');
  });

  it('refuses trouble on standard input', async () => {
    await refuses(['plan', '-'], '<stdin>:1:1', 'config-empty', '');
    await refuses(['memory', '-'], '<stdin>:2:3', 'config-json-syntax', '{\n  oops');
    assert.equal((await cli.run(['solve', '-'], '')).exitCode, 2);
  });

  it('prints nothing on stdout without --json', async () => {
    const { exitCode, out, err } = await cli.run(['plan', 'missing.json']);
    assert.deepEqual([exitCode, out], [2, '']);
    assert.equal(err, 'missing.json:1:1: missing.json does not exist; fix the path\n');
  });

  it('reports that standard output is full, and exits with 2', async function () {
    if (!existsSync('/dev/full')) this.skip();
    write('ok/terapipe.json', '{"model": {"layers": 2, "hidden": 64, "heads": 4}}');
    const full = openSync('/dev/full', 'w');
    try {
      for (const args of [['plan', 'ok/terapipe.json'], ['plan', 'missing.json', '--json'], ['--help']])
        assert.deepEqual(await cli.runTo(full, args), {
          exitCode: 2,
          err: 'terapipe: Standard output could not be written: the disk is full; make room, or name another place\n',
        });
    } finally {
      closeSync(full);
    }
  });

  it('takes no output that a disk cut off for a whole one, and leaves none behind', async function () {
    write('big/terapipe.json', bigPlan);
    const bundle = await cli.bundle();
    const exportCut = (redirection: string) => {
      // As on a full disk, the write that reaches the limit takes a part, and the next one fails.
      const script = `ulimit -f 8 && "$0" "$1" export big/terapipe.json --to chrome-trace ${redirection}`;
      return spawnSync('sh', ['-c', script, process.execPath, bundle], { cwd: cli.folder, encoding: 'utf8' });
    };
    const printed = exportCut('> printed.json');
    if (printed.error !== undefined) this.skip();
    const larger = 'it would be larger than files may be here; name another place\n';
    assert.deepEqual([printed.status, printed.stderr], [2, `terapipe: Standard output could not be written: ${larger}`]);
    const before = readdirSync(cli.folder);
    const written = exportCut('--out written.json');
    assert.deepEqual([written.status, written.stderr], [2, `terapipe: written.json could not be written: ${larger}`]);
    assert.deepEqual(readdirSync(cli.folder), before);
    write('written.json', 'old');
    assert.equal(exportCut('--out written.json --write').status, 2);
    assert.equal(readFileSync(path.join(cli.folder, 'written.json'), 'utf8'), 'old');
  });

  it('ends quietly when nobody reads on', async () => {
    write('big/terapipe.json', bigPlan);
    const { exitCode, out, err } = await cli.runForOneRead(['export', 'big/terapipe.json', '--to', 'chrome-trace']);
    assert.deepEqual([exitCode, err], [0, '']);
    assert.match(out, /^\{"displayTimeUnit/);
  });

  it('refuses settings and arguments it does not understand', async () => {
    write('ok/terapipe.json', '{"model": {"layers": 2, "hidden": 64, "heads": 4}}');
    const config = path.join(cli.folder, 'ok/terapipe.json');
    const refusesHere = async (args: readonly string[], code: string) => {
      let [out, err] = ['', ''];
      const terminal = {
        out: (text: string) => void (out += text),
        err: (text: string) => void (err += text),
        clock: () => 0,
        now: () => '2026-01-01T00:00:00Z',
        progress: () => undefined,
        status: () => undefined,
        signal: new AbortController().signal,
        profilerFile: '',
        torchFolder: '',
        shell: () => Promise.reject(new Error('no shell here')),
        debug: false,
      };
      const exitCode = await runCommand([...args, '--json'], terminal);
      check({ exitCode, out, err }, 'terapipe', code);
    };
    await refusesHere(['plan', config, '--set', 'training.microBatch=0'], 'config-out-of-range');
    await refusesHere(['plan', config, '--set', 'training.microBatches=1'], 'override-unknown-key');
    await refusesHere(['plan', config, '--gpu', 'A100'], 'config-unknown-preset');
    await refusesHere(['plan', config, '--nodes', '-1'], 'usage');
    await refusesHere(['plan', config, '--nodes=1.5'], 'usage');
    await refusesHere(['plan', config, '--fast'], 'usage');
    await refusesHere(['plan'], 'usage');
    await refusesHere(['plan', 'a', 'b'], 'usage');
    await refusesHere(['plann', config], 'usage');
    await refusesHere([], 'usage');
  });

  it('places what cannot be planned at the value that prevents it', async () => {
    const config = '{\n  "model": {"layers": 2, "hidden": 64, "heads": 4},\n  "layout": {"pipeline": 3, "tensor": 1}\n}';
    await file(config, '3:26', 'pp-layers-not-divisible', 'stages/terapipe.json');
  });

  it('prints no escape sequence that a file smuggles in', async () => {
    write('escape.json', '{"model_type": "\\u001b[2J\\u202e"}');
    const { err } = await cli.run(['plan', 'escape.json']);
    assert.ok(!err.includes('\u001b') && !err.includes('\u202e'), JSON.stringify(err));
  });
});
