import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { slurmJob, startScript } from '../core/launchers/megatron/started-script';
import { tinyConfig } from '../features/rehearsal/profiler/tiny-plan';
import { openCommandLine, type CommandLine } from './command-line';

const runtime = path.join(import.meta.dirname, '../../../src/runtime/torch');

describe('terapipe export --to torchrun', () => {
  let line: CommandLine;
  const inFolder = (...names: readonly string[]): string => path.join(line.folder, ...names);

  before(() => {
    line = openCommandLine();
    writeFileSync(inFolder('terapipe.json'), tinyConfig());
  });
  after(() => line.dispose());

  it('writes a folder with the plan, the runtime and how to start it', async () => {
    const { exitCode, out } = await line.run(['export', 'terapipe.json', '--to', 'torchrun', '--out', 'run', '--json']);
    assert.equal(exitCode, 0);
    const { files, written, schedule } = JSON.parse(out) as { files: string[]; written: string; schedule: string };
    assert.deepEqual([written, schedule], ['run', 'TeraPipe']);
    const sources = readdirSync(runtime, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.py'));
    assert.deepEqual([...files].sort(), ['README.md', 'plan.json', 'run.sh', ...sources].sort());
    for (const name of sources) assert.equal(readFileSync(inFolder('run', name), 'utf8'), readFileSync(path.join(runtime, name), 'utf8'));
    const { kind, units } = JSON.parse(readFileSync(inFolder('run/plan.json'), 'utf8')) as { kind: string; units: unknown[] };
    assert.deepEqual([kind, units.length], ['terapipe-torch-plan', 5]);
    assert.equal(statSync(inFolder('run/run.sh')).mode & 0o100, 0o100);
    assert.equal(statSync(inFolder('run/plan.json')).mode & 0o100, 0);
    const readme = readFileSync(inFolder('run/README.md'), 'utf8');
    assert.match(readme, /2 stages on 2 processes/);
    assert.ok(readme.split('\n').length < 50, 'one screen');
  });

  it('leaves files that exist as they are unless it may replace them', async () => {
    const to = ['export', 'terapipe.json', '--to', 'torchrun', '--out', 'kept'];
    mkdirSync(inFolder('kept'));
    writeFileSync(inFolder('kept/run.sh'), 'mine');
    writeFileSync(inFolder('kept/other.txt'), 'mine too');
    const refused = await line.run(to);
    assert.equal(refused.exitCode, 2);
    assert.match(refused.err, /kept.run\.sh exists already.*--write/s);
    assert.deepEqual(readdirSync(inFolder('kept')).sort(), ['other.txt', 'run.sh']);
    assert.equal((await line.run([...to, '--write'])).exitCode, 0);
    assert.notEqual(readFileSync(inFolder('kept/run.sh'), 'utf8'), 'mine');
    assert.equal(readFileSync(inFolder('kept/other.txt'), 'utf8'), 'mine too');
    const asFile = await line.run(['export', 'terapipe.json', '--to', 'torchrun', '--out', 'terapipe.json']);
    assert.equal(asFile.exitCode, 2);
    assert.match(asFile.err, /a file with that name exists|its folder is a file/);
  });

  it('wants a folder, and a plan that the runtime trains', async () => {
    const nowhere = await line.run(['export', 'terapipe.json', '--to', 'torchrun']);
    assert.equal(nowhere.exitCode, 2);
    assert.match(nowhere.err, /--to torchrun writes a folder.*--out DIR/s);
    const fp8 = await line.run([
      'export',
      'terapipe.json',
      '--to',
      'torchrun',
      '--out',
      'fp8',
      '--set',
      'training.gemmPrecision=fp8',
      '--set',
      'training.precision=bf16',
    ]);
    assert.equal(fp8.exitCode, 2);
    assert.match(fp8.err, /it has GEMMs in fp8/);
    assert.ok(!readdirSync(line.folder).includes('fp8'));
  });

  it('starts train.py on one machine, on each of several, and under Slurm', async () => {
    const two = { cluster: { nodes: 2 }, layout: { data: 2 }, training: { globalBatch: 4 }, schedule: '1F1B', slicing: undefined };
    writeFileSync(inFolder('two.terapipe.json'), tinyConfig(two));
    assert.equal((await line.run(['export', 'two.terapipe.json', '--to', 'torchrun', '--out', 'wide'])).exitCode, 0);
    const script = (folder: string): string => readFileSync(inFolder(folder, 'run.sh'), 'utf8');
    const submitted = { SLURM_SUBMIT_DIR: inFolder('run') };
    const program = [inFolder('run/train.py'), inFolder('run/plan.json')];
    const one = startScript(script('run'), submitted);
    assert.deepEqual([one.status, one.stderr], [0, '']);
    assert.deepEqual(one.torchrun, ['--standalone', '--nnodes', '1', '--nproc-per-node', '2', ...program]);
    const slurm = startScript(script('wide'), { ...submitted, ...slurmJob });
    assert.deepEqual(slurm.torchrun?.slice(0, 6), ['--rdzv-id', '7', '--rdzv-backend', 'c10d', '--rdzv-endpoint', 'node0000:29500']);
    assert.deepEqual(slurm.torchrun.slice(6, 10), ['--nnodes', '2', '--nproc-per-node', '2']);
    const node = startScript(script('wide'), { ...submitted, NODE_RANK: '1', MASTER_ADDR: 'first' });
    assert.deepEqual(node.torchrun?.slice(0, 4), ['--node-rank', '1', '--master-addr', 'first']);
    assert.match(startScript(script('run')).stderr, /plan\.json is not next to this script/);
  });

  it('writes the epochs of a run that freezes layers, and how to start it', async () => {
    const sample = path.join(import.meta.dirname, '../../../media/samples/vit-elastic/terapipe.json');
    const to = ['--to', 'torchrun', '--out', 'frozen', '--json'];
    const { exitCode, out, err } = await line.run(['export', sample, ...to]);
    assert.equal(exitCode, 0);
    assert.match(err, /warning: not written: the optimizer sgd/);
    const { files } = JSON.parse(out) as { files: string[] };
    assert.ok(['elastic.json', 'run.sh', 'README.md', 'train.py'].every((name) => files.includes(name)));
    const { kind, model, planned, replicas } = JSON.parse(readFileSync(inFolder('frozen/elastic.json'), 'utf8')) as ElasticFile;
    assert.deepEqual([kind, model.vocab, model.patchWidth, model.maxPositions], ['terapipe-torch-elastic', 10, 768, 197]);
    assert.deepEqual([replicas, planned.length, planned[0]?.pipelineLength, planned.at(-1)?.pipelineLength], [2, 10, 8, 1]);
    const node = startScript(readFileSync(inFolder('frozen/run.sh'), 'utf8'), {
      SLURM_SUBMIT_DIR: inFolder('frozen'),
      NODE_RANK: '1',
      MASTER_ADDR: 'first',
    });
    assert.deepEqual(node.torchrun?.slice(-6), [
      '--nnodes',
      '2',
      '--nproc-per-node',
      '8',
      inFolder('frozen/train.py'),
      inFolder('frozen/elastic.json'),
    ]);
  });

  it('refuses a run that freezes layers where the runtime does not train it', async () => {
    writeFileSync(
      inFolder('tied.terapipe.json'),
      tinyConfig({ elastic: { epochs: 2, datasetSize: 8, batch: 2 }, schedule: undefined, slicing: undefined }),
    );
    const to = ['export', 'tied.terapipe.json', '--to', 'torchrun', '--out', 'tied'];
    const tied = await line.run(to);
    assert.equal(tied.exitCode, 2);
    assert.match(tied.err, /a head tied to the embedding, which freezes.*model\.tiedEmbeddings=false/s);
    assert.equal((await line.run([...to, '--set', 'model.tiedEmbeddings=false'])).exitCode, 0);
    const named = await line.run([...to, '--candidate', '1f1b']);
    assert.match(named.err, /a run that freezes layers has no candidates/);
  });
});

/** The parts of elastic.json that are looked at. */
interface ElasticFile {
  readonly kind: string;
  readonly model: Readonly<Record<'vocab' | 'patchWidth' | 'maxPositions', number>>;
  readonly replicas: number;
  readonly planned: readonly { readonly pipelineLength: number }[];
}
