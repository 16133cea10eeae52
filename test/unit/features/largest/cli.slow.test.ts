import assert from 'node:assert/strict';
import path from 'node:path';
import { openCommandLine, type CommandLine } from '../../cli/command-line';

const config = path.join(import.meta.dirname, '../../../fixtures/configs/pipeline/terapipe.json');

interface Answer {
  readonly value: number | null;
  readonly next: { readonly value: number; readonly overBytes: number } | null;
  readonly sets: readonly string[] | null;
  readonly plan: { readonly iterationMs: number } | null;
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

  /** Within what is usable: what may fit does not count. */
  async function isFitting(settings: readonly string[]): Promise<boolean> {
    const { out } = await terapipe.run(['memory', config, ...settings, '--json']);
    const { fits, tight } = JSON.parse(out) as { readonly fits: boolean; readonly tight: boolean };
    return fits && !tight;
  }

  it('gives the settings of a plan that fits, and a next size that does not', async () => {
    for (const what of ['sequence', 'layers']) {
      const { value, next, sets, plan } = await max(config, what, ...small);
      assert.ok(value !== null && next !== null && sets !== null && plan !== null);
      assert.ok(next.value > value && next.overBytes > 0);
      const settings = [...small, ...sets.flatMap((set) => ['--set', set])];
      assert.equal(await isFitting(settings), true);
      const [key = ''] = sets.find((set) => set.endsWith(`=${value}`))?.split('=') ?? [];
      assert.equal(await isFitting([...settings, '--set', `${key}=${next.value}`]), false);
    }
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
});
