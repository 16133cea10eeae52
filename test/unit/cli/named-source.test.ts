import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openCommandLine } from './command-line';

const model = { layers: 4, hidden: 256, heads: 4, vocab: 1024 };

describe('what a command line names', () => {
  const cli = openCommandLine();
  after(cli.dispose);
  const write = (name: string, content: object): void => {
    const file = path.join(cli.folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify(content));
  };
  const layersOf = async (...args: string[]): Promise<unknown> =>
    (JSON.parse((await cli.run(['inspect', ...args, '--json'])).out) as { model?: { layers: unknown } }).model?.layers;

  it('is the one config of a folder', async () => {
    write('one/terapipe.json', { model });
    assert.equal(await layersOf('one'), 4);
    assert.equal(await layersOf('one/'), 4);
  });

  it('is the config that names the other one as its model', async () => {
    write('pair/config.json', { model_type: 'gpt2', n_layer: 6, n_embd: 64, n_head: 4 });
    write('pair/terapipe.json', { model: 'config.json' });
    assert.equal(await layersOf('pair'), 6);
  });

  it('is not one of several', async () => {
    write('two/a.terapipe.json', { model });
    write('two/b.terapipe.json', { model });
    const { exitCode, err } = await cli.run(['plan', 'two']);
    assert.equal(exitCode, 2);
    assert.match(err, /has 2 configs; name one of "a\.terapipe\.json" or "b\.terapipe\.json"/);
  });

  it("is a model of Hugging Face's hub whose sizes are known", async () => {
    assert.equal(await layersOf('meta-llama/Llama-3.1-70B'), 80);
    const { exitCode, err } = await cli.run(['plan', 'meta-llama/Llama-9-9B']);
    assert.equal(exitCode, 2);
    assert.match(err, /no model of Hugging Face's hub by that name/);
  });
});

describe('options of a command line', () => {
  const cli = openCommandLine();
  after(cli.dispose);
  before(() => {
    writeFileSync(path.join(cli.folder, 'terapipe.json'), JSON.stringify({ model, cluster: { gpu: 'H100-80GB', nodes: 2 } }));
  });

  for (const command of ['plan', 'memory', 'inspect', 'elastic', 'export', 'prefill', 'rehearse', 'profile'])
    it(`are refused by ${command} where they contradict the file`, async () => {
      const format = command === 'export' ? ['--to', 'html'] : [];
      for (const flag of [
        ['--gpu', 'A100-40GB'],
        ['--nodes', '8'],
        ['--gpus', '24'],
      ]) {
        const { exitCode, err } = await cli.run([command, 'terapipe.json', ...flag, ...format]);
        assert.equal(exitCode, 2, err);
        assert.match(err, /^terapipe\.json:1:\d+: --/);
      }
    });

  it('are suggested where they are misspelt, settings too', async () => {
    assert.match((await cli.run(['plan', 'terapipe.json', '--node', '8'])).err, /did you mean --nodes\?/);
    assert.match((await cli.run(['plan', 'terapipe.json', '--num-gpus', '8'])).err, /did you mean --gpus\?/);
    assert.match((await cli.run(['plan', 'terapipe.json', '--tp', '8'])).err, /give --set layout\.tensor=VALUE/);
  });

  it('contradict no setting of the same line', async () => {
    const { exitCode, err } = await cli.run(['plan', 'terapipe.json', '--nodes', '4', '--set', 'cluster.nodes=2']);
    assert.equal(exitCode, 2);
    assert.match(err, /contradict each other/);
    for (const [flag, value, set] of [
      ['--tokens', '1T', 'training.tokens=2e12'],
      ['--price', '2', 'cluster.pricePerGpuHour=3'],
    ] as const) {
      const refused = await cli.run(['plan', 'terapipe.json', flag, value, '--set', set]);
      assert.deepEqual([refused.exitCode, refused.err.includes('contradict each other')], [2, true], refused.err);
    }
  });

  it('print the version', async () => {
    assert.match((await cli.run(['--version'])).out, /^\d+\.\d+\.\d+\n$/);
  });
});
