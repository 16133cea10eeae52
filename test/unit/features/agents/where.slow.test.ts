import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { runTool } from '../../../../src/features/agents/core/run-tool';
import type { ToolHost } from '../../../../src/features/agents/core/tool';
import { hostTicking } from './ticking-host';

const asked = { path: 'llama3-8b/config.json', set: { 'training.globalBatch': 64, schedule: '1F1B' } };
const two = ['H100-80GB:8', 'A100-80GB:8'];
const where = (input: object, host: ToolHost = hostTicking(5)) => runTool('terapipe_where', { ...asked, on: two, ...input }, host);

interface Row {
  readonly machine: string;
  readonly stepMs: number;
  readonly set: Readonly<Record<string, string | number>>;
}

describe('machines compared for agents', () => {
  it('rank by cost only where each has a price, and that is what the answer states', async () => {
    const { text } = await where({ prices: { 'H100-80GB': 3, 'A100-80GB': 1 } });
    assert.match(text, /cheapest first/);
    assert.doesNotMatch(text, /No price/);
    const some = await where({ prices: { 'H100-80GB': 3 } });
    assert.match(some.text, /fewest GPU hours first/);
    assert.match(some.text, /give prices of A100-80GB to rank by cost/);
  });

  it('have settings that a search takes', async () => {
    const model = { model_type: 'gpt2', n_layer: 12, n_embd: 256, n_head: 4, n_positions: 256, vocab_size: 1000 };
    const question = { text: JSON.stringify(model), name: 'config.json', set: asked.set };
    const { data, text } = await runTool('terapipe_where', { ...question, on: ['H100-80GB:4'] }, hostTicking(0));
    const [row] = data['machines'] as readonly Row[];
    assert.deepEqual(row?.set, { 'cluster.gpu': 'H100-80GB', 'cluster.gpusPerNode': 4, 'cluster.nodes': 1 });
    assert.match(text, /terapipe_search .*"free": \["layout"\]/);
    const found = await runTool('terapipe_search', { ...question, set: { ...asked.set, ...row.set }, free: ['layout'] }, hostTicking(0));
    assert.equal(found.data['stepMs'], row.stepMs, found.text);
  });

  it('are refused a budget without a price, and report to which it was not applied', async () => {
    const { isError, text } = await where({ tokens: 1e12, budget: 1e5 });
    assert.equal(isError, true);
    assert.match(text, /budget needs the price/);
    const some = await where({ tokens: 1e12, budget: 1e9, prices: { 'H100-80GB': 3 } });
    assert.match(some.text, /budget was not applied to A100-80GB/);
  });

  it('are at most ten, whatever is written for one', async () => {
    const { isError, text } = await where({ on: ['H100-80GB:8,A100-80GB:8'] });
    assert.equal(isError, true, text);
    assert.equal((await where({ on: ['H100-80GB,A100-80GB'] })).isError, true);
  });

  it('have the layout of their plan where a search finds nothing in its share of the time', async () => {
    const host = hostTicking(500);
    const { data, text } = await where({}, host);
    const rows = data['machines'] as readonly Row[];
    assert.equal(rows.length, two.length, text);
    assert.match(text, /8 x H100-80GB\*: /);
    assert.ok(host.now() < 24_000, `${host.now()} ms`);
    for (const { set, stepMs } of rows) {
      const question = { ...asked, set: { ...asked.set, ...set } };
      const plan = await runTool('terapipe_plan', question, hostTicking(0));
      const found = await runTool('terapipe_search', { ...question, free: ['layout'] }, hostTicking(0));
      assert.ok((found.data['stepMs'] as number) <= stepMs && stepMs <= (plan.data['stepMs'] as number), text);
    }
  });

  it('share the time of one answer where no plan fits either', async () => {
    const on = [1, 2, 3, 4, 5, 6].map((gpus) => `A100-40GB:${gpus}`);
    // Of six seconds each nothing would be found either, after 36.
    const host = hostTicking(500);
    const { data, text } = await where({ path: 'gpt3-175b/config.json', on }, host);
    const codes = (data['notPlanned'] as readonly { readonly code: string }[]).map(({ code }) => code);
    assert.equal(codes.length, on.length);
    assert.ok(codes.includes('search-time'), text);
    assert.ok(host.now() < 24_000, `${host.now()} ms`);
  });
});
