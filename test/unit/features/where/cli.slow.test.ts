import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { openCommandLine, type CommandLine } from '../../cli/command-line';

const config = path.join(import.meta.dirname, '../../../fixtures/configs/pipeline/terapipe.json');

interface Row {
  readonly machine: string;
  readonly gpus: number;
  readonly iterationMs: number;
  readonly peakBytes: number;
  readonly cost: number | null;
  readonly sets: readonly string[];
}

interface Answer {
  readonly machines: readonly Row[];
  readonly notPlanned: readonly { readonly machine: string; readonly error: { readonly code: string } }[];
}

describe('terapipe where', () => {
  let terapipe: CommandLine;
  before(() => {
    terapipe = openCommandLine();
  });
  after(() => {
    terapipe.dispose();
  });

  async function where(...args: readonly string[]): Promise<Answer> {
    return JSON.parse((await terapipe.run(['where', config, '--json', ...args])).out) as Answer;
  }

  it('agrees with plan --search on each machine', async () => {
    const { machines } = await where('--on', 'H100-80GB:8,p4d.24xlarge:16,MI300X:8');
    assert.equal(machines.length, 3);
    for (const { sets, iterationMs, peakBytes, machine } of machines) {
      const settings = sets.flatMap((set) => ['--set', set]);
      const { out } = await terapipe.run(['plan', config, '--search', '--quick', '--free', 'layout', '--json', ...settings]);
      const { plan: best } = JSON.parse(out) as { readonly plan: { readonly iterationMs: number; readonly peakBytes: number } };
      assert.deepEqual([best.iterationMs, best.peakBytes], [iterationMs, peakBytes], machine);
    }
  });

  it('ranks by cost with prices from a file, and names what misses the limits', async () => {
    const prices = path.join(terapipe.folder, 'prices.json');
    writeFileSync(prices, '{"H100-80GB": 100, "A100-80GB": 1}');
    const args = ['where', config, '--on', 'H100-80GB:8,A100-80GB:8', '--prices', prices, '--tokens', '1B'];
    const { out, exitCode } = await terapipe.run(args);
    assert.equal(exitCode, 0);
    assert.match(out, /^Cheapest: 8 x A100-80GB: TP/);
    const tight = await terapipe.run([...args, '--budget', '1e-6']);
    assert.equal(tight.exitCode, 1);
    assert.match(tight.out, /^None meets the request\. Nearest is .*: over budget\.$/m);
  });

  it('states that it ranks by GPU hours where a machine has no price', async () => {
    const { out } = await terapipe.run(['where', config, '--on', 'H100-80GB:8,A100-80GB:8', '--prices', 'H100-80GB=2.5']);
    assert.match(out, /^Fewest GPU hours: /);
    assert.match(out, /rank by GPU hours: there is no price for A100-80GB/);
  });

  it('keeps the other rows where one machine has part of a node', async () => {
    const { machines, notPlanned } = await where('--on', 'H100-80GB:12,H100-80GB:8');
    assert.deepEqual(machines.map(({ gpus }) => gpus), [8]); // prettier-ignore
    assert.deepEqual(notPlanned.map(({ error }) => error.code), ['where-nodes']); // prettier-ignore
  });

  it('refuses unknown machines and prices in words', async () => {
    const unknown = await terapipe.run(['where', config, '--on', 'H900']);
    assert.equal(unknown.exitCode, 2);
    assert.match(unknown.err, /is not a GPU preset; did you mean/);
    const price = await terapipe.run(['where', config, '--prices', 'H100-80GB=cheap']);
    assert.match(price.err, /"H100-80GB" has no price; give it a number above 0/);
    const budget = await terapipe.run(['where', config, '--on', 'H100-80GB:8', '--tokens', '1B', '--budget', '1k']);
    assert.match(budget.err, /A budget needs the price of a machine/);
    const days = await terapipe.run(['where', config, '--days', 'soon']);
    assert.match(days.err, /--days is "soon"/);
  });
});
