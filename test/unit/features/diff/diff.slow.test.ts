import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { openCommandLine, type CommandLine } from '../../cli/command-line';

const model = { layers: 4, hidden: 1024, heads: 16, ffn: 4096, vocab: 32256 };
const run = {
  model: 'model/config.json',
  cluster: { gpu: 'A100-40GB', nodes: 1, gpusPerNode: 8 },
  training: { sequenceLength: 2048, globalBatch: 64, microBatch: 2 },
  layout: { tensor: 2, pipeline: 2, data: 2 },
};
const llama = readFileSync(path.join(import.meta.dirname, '../../../fixtures/launchers/hf/llama.json'), 'utf8');

interface ChangeJson {
  readonly file: string;
  readonly renamedFrom: string | null;
  readonly status: string;
  readonly effects: readonly string[];
  readonly changesConvergence: boolean;
  readonly base: { readonly globalBatch: number; readonly schedule: string } | null;
  readonly head: { readonly globalBatch: number; readonly schedule: string } | null;
  readonly settings: readonly { readonly key: string; readonly base: string; readonly head: string }[];
  readonly added: readonly { readonly code: string; readonly file: string; readonly line: number }[];
}

describe('terapipe diff', () => {
  let cli: CommandLine;
  const write = (name: string, content: object | string): void => {
    const file = path.join(cli.folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content, null, 2));
  };
  const diff = async (...args: readonly string[]) => {
    const { out, err, exitCode } = await cli.run(['diff', ...args, '--json']);
    const answer = JSON.parse(out) as { readonly configs: readonly ChangeJson[]; readonly summary: string; readonly compared: number };
    return { ...answer, err, exitCode };
  };
  beforeEach(() => {
    cli = openCommandLine();
  });
  afterEach(() => {
    cli.dispose();
  });

  it('reports a changed global batch as one that changes convergence, and no change below 1 %', async () => {
    write('a.terapipe.json', { ...run, model });
    write('b.terapipe.json', { ...run, model, training: { ...run.training, globalBatch: 32 } });
    write('c.terapipe.json', { ...run, model: { ...model, vocab: 32512 } });
    const { configs, exitCode } = await diff('a.terapipe.json', 'b.terapipe.json');
    assert.deepEqual([configs[0]?.changesConvergence, configs[0]?.base?.globalBatch, configs[0]?.head?.globalBatch], [true, 64, 32]);
    assert.equal(exitCode, 0);
    assert.match((await cli.run(['diff', 'a.terapipe.json', 'b.terapipe.json'])).out, /global batch +64 -> 32: changes convergence/);
    assert.deepEqual((await diff('a.terapipe.json', 'c.terapipe.json')).configs, []);
  });

  it('has schedules by their ids in JSON and by their labels in text, and no commas in names of digits', async () => {
    const ofType = (type: string): string => llama.replace(/"model_type": "\w+"/, `"model_type": "${type}"`);
    write('a/config.json', ofType('0111'));
    write('b/config.json', ofType('20231101').replace(/"intermediate_size": \d+/, '"intermediate_size": 8192'));
    write('a.terapipe.json', { ...run, model: 'a/config.json', schedule: '1F1B' });
    write('b.terapipe.json', { ...run, model: 'b/config.json', schedule: 'Interleaved1F1B', layout: { ...run.layout, virtualStages: 2 } });
    const [change] = (await diff('a.terapipe.json', 'b.terapipe.json')).configs;
    assert.deepEqual([change?.base?.schedule, change?.head?.schedule], ['1F1B', 'Interleaved1F1B']);
    const { out } = await cli.run(['diff', 'a.terapipe.json', 'b.terapipe.json', '--all']);
    assert.match(out, /schedule +1F1B -> interleaved 1F1B/);
    assert.match(out, /model\.modelType +0111 -> 20231101/);
    assert.match(out, /model\.ffn +4,096 -> 8,192/);
  });

  it('does not take what the planner chooses for a change of the batch', async () => {
    const open = { cluster: run.cluster, training: { sequenceLength: 2048 } };
    write('a.terapipe.json', { ...open, model });
    write('b.terapipe.json', { ...open, model: { ...model, layers: 40, hidden: 5120, heads: 40, ffn: 20480 } });
    const [change] = (await diff('a.terapipe.json', 'b.terapipe.json')).configs;
    assert.equal(change?.changesConvergence, false);
    assert.ok(change.effects.includes('slower'));
  });

  it('fails where a step no longer fits, and lists the findings that are new', async () => {
    write('old/a.terapipe.json', { ...run, model });
    write('new/a.terapipe.json', { ...run, model: { ...model, layers: 96, hidden: 12288, heads: 96, ffn: 49152 } });
    write('new/b.terapipe.json', { ...run, model });
    const { configs, exitCode, summary } = await diff('old', 'new');
    const [grown, added] = configs;
    assert.deepEqual([grown?.file, added?.file, added?.status], ['a.terapipe.json', 'b.terapipe.json', 'added']);
    assert.ok(grown?.effects.includes('noLongerFits'));
    assert.deepEqual(grown?.added.map(({ code }) => code), ['memory-over-capacity']); // prettier-ignore
    assert.equal(exitCode, 1);
    assert.match(summary, /^2 of 2 configs changed: 1 no longer fits, 1 has new errors, .*1 added$/);
    assert.equal((await diff('new', 'old')).exitCode, 0);
  });

  describe('of git revisions', () => {
    const git = (...args: readonly string[]): void => {
      execFileSync('git', ['-c', 'user.email=a@example.org', '-c', 'user.name=a', ...args], { cwd: cli.folder, stdio: 'pipe' });
    };
    const commit = (message: string): void => {
      git('add', '-A');
      git('commit', '-q', '-m', message);
    };
    beforeEach(function () {
      try {
        git('init', '-q', '-b', 'main');
      } catch {
        this.skip();
      }
    });

    it('reads every file of a config in its own revision, whatever the disk has', async () => {
      write('configs/a.terapipe.json', run);
      write('configs/model/config.json', llama);
      write('configs/same.terapipe.json', { ...run, model });
      commit('one');
      write('configs/model/config.json', llama.replace(/"num_hidden_layers": \d+/, '"num_hidden_layers": 42'));
      commit('two');
      rmSync(path.join(cli.folder, 'configs'), { recursive: true });
      const { configs, compared } = await diff('HEAD~1:configs', 'HEAD:configs');
      assert.equal(compared, 3);
      assert.deepEqual(configs.map(({ file }) => file), ['a.terapipe.json', 'model/config.json']); // prettier-ignore
      const layers = configs[0]?.settings.find(({ key }) => key === 'model.layers');
      assert.equal(layers?.head, '42');
      assert.deepEqual((await diff('--git', 'HEAD~1..HEAD', 'configs')).configs, configs);
      assert.deepEqual((await diff('HEAD~1:configs/a.terapipe.json', 'HEAD:configs/a.terapipe.json')).configs.length, 1);
    });

    it('compares since branches parted, the disk with a revision, and follows a renamed file', async () => {
      write('a.terapipe.json', { ...run, model });
      commit('one');
      git('checkout', '-q', '-b', 'topic');
      write('moved/a.terapipe.json', { ...run, model, training: { ...run.training, globalBatch: 32 } });
      rmSync(path.join(cli.folder, 'a.terapipe.json'));
      commit('two');
      git('checkout', '-q', 'main');
      write('b.terapipe.json', { ...run, model });
      commit('three');
      const { configs } = await diff('--git', 'main...topic', '.');
      assert.deepEqual(configs.map(({ file, renamedFrom }) => [file, renamedFrom]), [['moved/a.terapipe.json', 'a.terapipe.json']]); // prettier-ignore
      assert.deepEqual((await diff('main', '.')).configs, []);
      write('a.terapipe.json', { ...run, model, training: { ...run.training, globalBatch: 128 } });
      assert.deepEqual((await diff('main', '.')).configs.map(({ file }) => file), ['a.terapipe.json']); // prettier-ignore
    });

    it('runs nothing that a revision or a repository names, and reads no link out of it', async function () {
      if (process.platform === 'win32') this.skip();
      write('a.terapipe.json', { ...run, model });
      symlinkSync('/etc/passwd', path.join(cli.folder, 'link.terapipe.json'));
      commit('one');
      git('config', 'core.fsmonitor', 'touch owned');
      git('config', 'alias.ls-tree', '!touch owned');
      for (const name of ['--output=owned', '-h', '$(touch owned)', 'no-such', 'main:../..', 'a\nb'])
        assert.equal((await cli.run(['diff', '--json', '--', name, 'main'])).exitCode, 2, name);
      const { configs, compared } = await diff('main', 'main');
      assert.deepEqual([configs, compared], [[], 1]);
      assert.throws(() => readFileSync(path.join(cli.folder, 'owned')), { code: 'ENOENT' });
    });

    it('writes a comment that holds names from files as text, and fits what GitHub takes', async () => {
      const odd = 'x|y`<b>@z.terapipe.json';
      write(odd, { ...run, model });
      for (let index = 0; index < 40; index += 1) write(`${'long'.repeat(40)}${index}.terapipe.json`, { ...run, model: { ...model, layers: 2 }, layout: { tensor: 1, pipeline: 1, data: 1 }, cluster: { ...run.cluster, gpusPerNode: 1 } }); // prettier-ignore
      commit('one');
      for (const name of [odd, ...Array.from({ length: 40 }, (_, index) => `${'long'.repeat(40)}${index}.terapipe.json`)])
        write(name, { ...run, model, training: { ...run.training, globalBatch: 32 } });
      const { out } = await cli.run(['diff', 'HEAD', '.', '--format', 'markdown']);
      assert.match(out, /^<!-- terapipe:diff -->\n\n\*\*41 of 41 configs changed: .*41 change convergence/);
      assert.ok(out.length < 65_536);
      const row = out.split('\n').find((line) => line.includes('x\\|y'))!;
      assert.ok(row.startsWith("| `x\\|y'<b>@z.terapipe.json` |"), row);
      assert.match(row, /64 -> 32: changes convergence/);
    });
  });
});
