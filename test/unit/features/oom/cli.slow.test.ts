import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openCommandLine, type CommandLine } from '../../cli/command-line';
import { framed, text } from './pickles';

const fixtures = path.join(import.meta.dirname, '../../../fixtures');
const config = path.join(fixtures, 'configs/pipeline/terapipe.json');
const log = path.join(fixtures, 'oom/fragmentation.log');

describe('terapipe oom', () => {
  let terapipe: CommandLine;
  before(() => {
    terapipe = openCommandLine();
  });
  after(() => {
    terapipe.dispose();
  });

  it('refuses a pickle that would run a command, and runs nothing', async () => {
    // cposix\nsystem, a text, a tuple of it, REDUCE: what pickle.loads would run
    const call = [0x63, ...Buffer.from('posix\nsystem\n'), ...text('touch ran'), 0x85, 0x52];
    writeFileSync(path.join(terapipe.folder, 'hostile.pickle'), framed(call));
    const { exitCode, err } = await terapipe.run(['oom', 'hostile.pickle']);
    assert.equal(exitCode, 2);
    assert.match(err, /refused at byte 2: it would make a Python object \(GLOBAL\)/);
    assert.ok(!existsSync(path.join(terapipe.folder, 'ran')));
  });

  it('puts what a log has next to the plan of the stage of its rank', async () => {
    const { out, exitCode } = await terapipe.run(['oom', log, config]);
    assert.equal(exitCode, 1);
    assert.match(out, /^Fragmentation: .*\(rank 3\)/);
    assert.match(out, /pipeline: stage 1 of 4/);
    assert.match(out, /Recompute all layers: frees .* MiB, .* slower \(--set training\.recompute=full\)/);
  });

  it('reports that a plan may not fit, where it only may', async () => {
    const file = path.join(terapipe.folder, 'terapipe.json');
    writeFileSync(
      file,
      JSON.stringify({
        model: { layers: 64, hidden: 11600, heads: 80, vocab: 50257, tiedEmbeddings: true, maxPositions: 2048 },
        cluster: {
          gpu: 'V100-32GB',
          nodes: 32,
          gpusPerNode: 4,
          links: { intraNodeBusGBps: { '2': 46, '4': 124 }, nicGBps: 6.8, nicEfficiency: 1 },
        },
        training: {
          sequenceLength: 2048,
          microBatch: 1,
          globalBatch: 2048,
          precision: 'fp16',
          zeroStage: 1,
          recompute: 'full',
          runtime: 'deepspeed',
          gradAccumulationFp32: false,
          optimizer: 'adam-8bit',
          attention: 'unfused',
          sequenceParallel: false,
          fusedCrossEntropy: false,
          dropout: true,
        },
        layout: { tensor: 1, pipeline: 64, data: 2, context: 1 },
        schedule: '1F1B',
      }),
    );
    const { out } = await terapipe.run(['oom', log, file]);
    assert.match(out, /The plan may not fit/);
    assert.doesNotMatch(out, /The plan fits/);
  });

  it('exits with 0 where nothing ran out, and refuses what it cannot read', async () => {
    assert.equal((await terapipe.run(['oom', path.join(fixtures, 'oom/steady-torchtitan.log')])).exitCode, 0);
    assert.match((await terapipe.run(['oom', 'missing.log'])).err, /cannot be read \(ENOENT\)/);
    writeFileSync(path.join(terapipe.folder, 'weights.pt'), 'PK\u0003\u0004');
    assert.match((await terapipe.run(['oom', 'weights.pt'])).err, /is a zip archive/);
    assert.match((await terapipe.run(['oom', log, config, config])).err, /oom takes LOG and the config of its run/);
  });

  it('prices changes with the profile near the config, as plan does', async () => {
    const [file, times] = ['terapipe.json', 'times.csv'].map((name) => path.join(terapipe.folder, name)) as [string, string];
    const training = { sequenceLength: 128, microBatch: 1, globalBatch: 8 };
    writeFileSync(file, JSON.stringify({ model: { layers: 4, hidden: 256, heads: 4, ffn: 1024 }, training, layout: { tensor: 1, pipeline: 1, data: 1 }, schedule: '1F1B' })); // prettier-ignore
    const gpu = ['--gpu', 'H100-80GB', '--gpus', '1'];
    const slower = async (): Promise<number> => {
      const { plan } = JSON.parse((await terapipe.run(['oom', log, file, ...gpu, '--json'])).out) as {
        readonly plan: { readonly priced: readonly { readonly sets: readonly string[]; readonly slower: number }[] };
      };
      const change = plan.priced.find(({ sets }) => sets.includes('training.recompute=full'));
      assert.ok(change !== undefined, JSON.stringify(plan));
      return change.slower;
    };
    const planMs = async (...sets: readonly string[]): Promise<number> => {
      const { out } = await terapipe.run(['plan', file, ...gpu, '--json', ...sets]);
      return (JSON.parse(out) as { readonly plan: { readonly iterationMs: number } }).plan.iterationMs;
    };
    const before = await slower();
    const rows = [8, 16, 32, 64, 128].flatMap((tokens) => [0, 64].map((context) => `${tokens},${context},${tokens / 10},${tokens / 5}`));
    writeFileSync(times, ['tokens,context,forward_ms,backward_ms', ...rows].join('\n'));
    const stored = path.join(terapipe.folder, '.terapipe/profiles/measured.json');
    await terapipe.run(['profile', file, '--import', times, '--device', 'H100-80GB', '--out', stored]);
    const measured = await slower();
    const expected = (await planMs('--set', 'training.recompute=full')) / (await planMs()) - 1;
    assert.ok(Math.abs(measured - expected) < 1e-9, `${measured} and ${expected}`);
    assert.ok(Math.abs(measured - before) > 0.01, 'the profile makes a difference');
  });
});
