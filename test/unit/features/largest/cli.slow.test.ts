import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { openCommandLine, type CommandLine } from '../../cli/command-line';

const config = path.join(import.meta.dirname, '../../../fixtures/configs/pipeline/terapipe.json');

interface Answer {
  readonly value: number | null;
  readonly next: { readonly value: number; readonly tight: boolean; readonly overBytes: number | null } | null;
  readonly mayFit: number | null;
  readonly sets: readonly string[] | null;
  readonly plan: { readonly iterationMs: number; readonly fits: boolean; readonly tight: boolean } | null;
}

describe('terapipe max', () => {
  const small = ['--set', 'cluster.gpu.preset=A100-40GB', '--set', 'cluster.gpu.memoryGB=3'];
  let terapipe: CommandLine;
  before(() => {
    terapipe = openCommandLine();
  });
  after(() => {
    terapipe.dispose();
  });

  async function max(...args: readonly string[]): Promise<Answer> {
    return JSON.parse((await terapipe.run(['max', ...args, '--json'])).out) as Answer;
  }

  /** `fits` and `tight` as `memory` has them. */
  async function verdict(file: string, settings: readonly string[]): Promise<readonly [boolean, boolean]> {
    const { out } = await terapipe.run(['memory', file, ...settings, '--json']);
    const { fits, tight } = JSON.parse(out) as { readonly fits: boolean; readonly tight: boolean };
    return [fits, tight];
  }

  /** Within what is usable: what may fit does not count. */
  async function isFitting(settings: readonly string[]): Promise<boolean> {
    const [fits, tight] = await verdict(config, settings);
    return fits && !tight;
  }

  it('gives the settings of a plan that fits, and a next size that does not', async () => {
    for (const what of ['sequence', 'layers']) {
      const { value, next, sets, plan } = await max(config, what, ...small);
      assert.ok(value !== null && next !== null && sets !== null && plan !== null);
      assert.ok(next.value > value && (next.overBytes ?? 0) > 0);
      const settings = [...small, ...sets.flatMap((set) => ['--set', set])];
      assert.equal(await isFitting(settings), true);
      const [key = ''] = sets.find((set) => set.endsWith(`=${value}`))?.split('=') ?? [];
      assert.equal(await isFitting([...settings, '--set', `${key}=${next.value}`]), false);
    }
  });

  it('states up to which size a run may fit, which the next size is the first of', async () => {
    const { value, next, mayFit, plan } = await max(config, 'layers', ...small);
    assert.ok(value !== null && next !== null && mayFit !== null);
    assert.deepEqual([plan?.fits, plan?.tight, next.tight], [true, false, true]);
    assert.ok(mayFit >= next.value);
    const of = (layers: number) => verdict(config, [...small, '--set', `model.layers=${layers}`]);
    assert.deepEqual(await of(mayFit), [true, true]);
    assert.deepEqual(await of(mayFit + 4), [false, false]);
    const { out } = await terapipe.run(['max', config, 'layers', ...small]);
    assert.match(out, /may not fit: uses \S+ MiB of the safety margin on stage 0/);
    assert.match(out, /may fit +up to [\d,]+ layers may fit, but may not/);
  });

  it('finds the last size before cached blocks make a doubt, or that none fits for certain', async () => {
    const file = path.join(terapipe.folder, 'blocks.json');
    const model = { layers: 64, hidden: 4096, heads: 32, vocab: 50257, tiedEmbeddings: true, maxPositions: 16384 };
    const sizes = { sequenceLength: 2048, microBatch: 1, globalBatch: 64, precision: 'fp16', zeroStage: 1, recompute: 'full' };
    const training = { ...sizes, runtime: 'deepspeed', gradAccumulationFp32: false, attention: 'flash', fusedCrossEntropy: true };
    const cluster = { gpu: 'V100-32GB', nodes: 8, gpusPerNode: 4 };
    writeFileSync(file, JSON.stringify({ model, cluster, training, layout: { tensor: 1, pipeline: 16, data: 2, context: 1 }, schedule: '1F1B' })); // prettier-ignore
    const gpu = (memoryGB: number) => ['--set', 'cluster.gpu.preset=V100-32GB', '--set', `cluster.gpu.memoryGB=${memoryGB}`];

    const { value, next, mayFit, plan } = await max(file, 'sequence', ...gpu(24));
    assert.ok(value !== null && next !== null && mayFit !== null && mayFit > value);
    assert.deepEqual([plan?.fits, plan?.tight, next.tight, next.overBytes], [true, false, true, null]);
    const verdictAt = (tokens: number) => verdict(file, [...gpu(24), '--set', `training.sequenceLength=${tokens}`]);
    assert.deepEqual(await verdictAt(value), [true, false]);
    assert.deepEqual(await verdictAt(next.value), [true, true]);
    assert.deepEqual(await verdictAt(mayFit), [true, true]);
    assert.deepEqual(await verdictAt(mayFit + 128), [false, false]);

    const { exitCode, out } = await terapipe.run(['max', file, 'micro-batch', ...gpu(16)]);
    assert.equal(exitCode, 0);
    assert.match(out, /^None fits for certain: 1 sequence may not fit: cached blocks need more than there is on stage 0/);
    assert.match(out, /may fit +up to 1 sequence may fit, but may not/);
  });

  it('takes FILE and WHAT in either order', async () => {
    assert.deepEqual(await max('layers', config, ...small), await max(config, 'layers', ...small));
  });

  it('ends at the most that is asked for', async () => {
    const { value, next } = await max(config, 'sequence', '--most', '2048');
    assert.deepEqual([value, next], [2048, null]);
  });

  it('exits with 1 where none fits', async () => {
    const args = ['max', config, 'micro-batch', '--set', 'cluster.gpu.preset=A100-40GB', '--set', 'cluster.gpu.memoryGB=1.2'];
    const { exitCode, out } = await terapipe.run([...args, '--set', 'training.sequenceLength=65536']);
    assert.equal(exitCode, 1);
    assert.match(out, /None fits: 1 sequence need/);
  });

  it('refuses what is not a size, and a model without experts', async () => {
    assert.match((await terapipe.run(['max', config, 'width'])).err, /"width" is nothing that max finds/);
    assert.match((await terapipe.run(['max', config])).err, /max takes FILE and what is to be the most/);
    assert.match((await terapipe.run(['max', config, 'experts'])).err, /The model has no experts/);
  });

  it('plans with the profile near the config that plan finds', async () => {
    const file = path.join(terapipe.folder, 'terapipe.json');
    const [times, step] = [path.join(terapipe.folder, 'times.csv'), ['--gpu', 'H100-80GB', '--gpus', '1']];
    const training = { sequenceLength: 128, microBatch: 1, globalBatch: 8 };
    writeFileSync(file, JSON.stringify({ model: { layers: 4, hidden: 256, heads: 4, ffn: 1024 }, training, layout: { tensor: 1, pipeline: 1, data: 1 }, schedule: '1F1B' })); // prettier-ignore
    const planMs = async (): Promise<number> => {
      const { out } = await terapipe.run(['plan', file, ...step, '--json']);
      return (JSON.parse(out) as { readonly plan: { readonly iterationMs: number } }).plan.iterationMs;
    };
    const before = await planMs();
    const rows = [8, 16, 32, 64, 128].flatMap((tokens) => [0, 64].map((context) => `${tokens},${context},${tokens / 10},${tokens / 5}`));
    writeFileSync(times, ['tokens,context,forward_ms,backward_ms', ...rows].join('\n'));
    const stored = path.join(terapipe.folder, '.terapipe/profiles/measured.json');
    await terapipe.run(['profile', file, '--import', times, '--device', 'H100-80GB', '--out', stored]);
    const measured = await planMs();
    assert.ok(measured > 2 * before, `${measured} ms and ${before} ms`);
    const { plan } = await max(file, 'micro-batch', '--most', '1', ...step);
    assert.equal(plan?.iterationMs, measured);
  });
});
