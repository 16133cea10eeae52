import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { countTokens, mostTokens } from '../../src/features/agents/core/tool';
import { tools } from '../../src/features/agents/core/registry';
import { openServer, type Agent } from './over-stdio';

const llama = 'media/samples/llama3-8b/config.json';
const onOneNode = { path: llama, nodes: 1, set: { 'layout.tensor': 4, 'training.globalBatch': 32 } };

/** A call of each tool that is answered. */
const calls: Readonly<Record<string, Record<string, unknown>>> = {
  terapipe_inspect: { path: 'media/samples/gpt3-175b/terapipe.json' },
  terapipe_check: onOneNode,
  terapipe_memory: onOneNode,
  terapipe_plan: { ...onOneNode, schedules: true },
  terapipe_search: { path: llama, nodes: 1, set: { 'training.globalBatch': 32, 'layout.tensor': 4, schedule: '1F1B' } },
  terapipe_compare: { ...onOneNode, other: { set: { 'layout.tensor': 2 } } },
  terapipe_values: { key: 'tp', path: llama },
  terapipe_max: { what: 'sequence', ...onOneNode },
  terapipe_oom: {
    ...onOneNode,
    logText:
      'CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.20 GiB is free. Of the allocated memory 60.10 GiB is allocated by PyTorch, and 16.00 GiB is reserved by PyTorch but unallocated.',
  },
  terapipe_where: { ...onOneNode, on: ['H100-80GB:8', 'A100-80GB:8'], prices: { 'H100-80GB': 2.5, 'A100-80GB': 1.5 }, tokens: 1e12 },
  terapipe_days: { ...onOneNode, tokens: 1e12, price: 2.5 },
  terapipe_patch: { path: 'media/samples/gpt3-175b/terapipe.json', set: { 'training.microBatch': 1 } },
  terapipe_calibrate: { ...onOneNode, stepMs: 3000 },
  terapipe_slices: { path: llama, nodes: 1, set: { 'layout.pipeline': 8, 'training.globalBatch': 8 } },
  terapipe_prefill: { path: llama, prompt: 32_768, stages: 4 },
};

describe('terapipe mcp, over standard input and output', () => {
  const server = openServer();
  let agent: Agent;
  before(async () => {
    agent = await server.connect();
  });
  after(() => server.dispose());

  it('lists every tool, as reading only, with a schema of its input', async () => {
    const listed = await agent.client.listTools();
    assert.deepEqual(
      listed.tools.map(({ name }) => name),
      Object.keys(tools),
    );
    for (const { annotations, inputSchema, description = '' } of listed.tools) {
      assert.equal(annotations?.readOnlyHint, true);
      assert.equal(inputSchema.type, 'object');
      assert.match(description, /(?:Reads only|Nothing is written to disk)/);
    }
  });

  it('reports up to which size a run may fit', async () => {
    const asked = {
      path: 'test/fixtures/configs/pipeline/terapipe.json',
      set: { 'cluster.gpu.preset': 'A100-40GB', 'cluster.gpu.memoryGB': 3 },
    };
    const { text, data } = await agent.call('terapipe_max', { what: 'layers', ...asked });
    interface LargestAnswer {
      readonly value: number;
      readonly next: { readonly value: number; readonly mayFit: boolean };
      readonly mayFit: number;
    }
    const { value, next, mayFit } = data as unknown as LargestAnswer;
    assert.ok(value < next.value && next.value <= mayFit && next.mayFit);
    assert.match(
      text,
      /layers may not fit: uses .+ of the safety margin on stage 0\.\nIn doubt: up to [\d,]+ layers may fit, but may not\./,
    );
  });

  it('speaks both eras of the protocol', async () => {
    const modern = await server.connect('auto');
    assert.equal(agent.client.getNegotiatedProtocolVersion(), '2025-11-25');
    assert.equal(modern.client.getNegotiatedProtocolVersion(), '2026-07-28');
    assert.deepEqual((await modern.call('terapipe_values', { key: 'tp' })).data, (await agent.call('terapipe_values', { key: 'tp' })).data);
  });

  for (const name of Object.keys(tools))
    it(`answers ${name} within its budget of tokens`, async () => {
      const { text, data, isError } = await agent.call(name, calls[name] ?? {});
      assert.equal(isError, false, text);
      assert.ok(countTokens(text + JSON.stringify(data)) <= mostTokens, text);
      assert.ok(text.split('\n').length >= 2, text);
    });

  it('answers the example of each tool, or reports which file is missing', async () => {
    for (const [name, { example }] of Object.entries(tools)) {
      const { text, isError } = await agent.call(name, example);
      assert.ok(!isError || text.includes('does not exist'), `${name}: ${text}`);
    }
  });

  it('cancels a call that is underway, and answers the next', async () => {
    const stop = new AbortController();
    const underway = agent.call(
      'terapipe_search',
      { path: 'media/samples/gpt3-175b/config.json', gpus: 384, seconds: 60 },
      { signal: stop.signal, onprogress: () => stop.abort() },
    );
    await assert.rejects(underway);
    assert.equal((await agent.call('terapipe_values', { key: 'tp' })).isError, false);
  });

  it('reports how to ask, to each of 200 bad inputs', async () => {
    for (const [index, [name, input]] of badInputs().entries()) {
      const { text, isError } = await agent.call(name, input);
      assert.equal(isError, true, `${index}: ${name} ${JSON.stringify(input).slice(0, 200)}: ${text}`);
      assert.match(text, /Ask as terapipe_|Call one of/, `${index}`);
      assert.ok(countTokens(text) <= mostTokens, `${index}`);
      assert.doesNotMatch(text, /internal|TypeError|undefined is/i, `${index}: ${text}`);
    }
  });

  it('reads no file outside its folder, whatever a config or a link names', async () => {
    const root = path.join(server.folder, 'root');
    mkdirSync(root);
    writeFileSync(path.join(server.folder, 'secret.json'), '{"model_type": "llama", "hidden_size": "secret"}');
    writeFileSync(path.join(root, 'terapipe.json'), '{"model": "../secret.json"}');
    symlinkSync(path.join(server.folder, 'secret.json'), path.join(root, 'link.json'));
    const inside = await server.connect('legacy', root);
    for (const file of ['../secret.json', path.join(server.folder, 'secret.json'), 'link.json', 'terapipe.json', '/etc/passwd']) {
      const { text, isError } = await inside.call('terapipe_inspect', { path: file });
      assert.equal(isError, true);
      assert.match(text, /outside the folders/, file);
      assert.doesNotMatch(text, /"secret"/);
    }
  });

  it('prints nothing but the protocol, and ends with its input', async () => {
    const child = await server.start();
    const out: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    const ask = (id: number, method: string, params: object): void => {
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    };
    ask(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } });
    await once(child.stdout, 'data');
    child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\nnonsense\n');
    ask(2, 'tools/call', { name: 'terapipe_values', arguments: { key: 'tp' } });
    await once(child.stdout, 'data');
    child.stdin.end();
    const [exitCode] = (await once(child, 'exit')) as [number];
    assert.equal(exitCode, 0);
    for (const line of Buffer.concat(out).toString().trimEnd().split('\n'))
      assert.equal((JSON.parse(line) as { jsonrpc: string }).jsonrpc, '2.0', line);
  });
});

/** Inputs that no tool can answer: wrong types, unknown names, files that are none, settings that are refused, hostile texts. */
function badInputs(): readonly (readonly [string, Record<string, unknown>])[] {
  const names = Object.keys(tools).filter((name) => name !== 'terapipe_values');
  const files = [
    { path: 'package.json' },
    { path: 'README.md' },
    { path: 'src' },
    { path: '' },
    { path: 'no/such\u0000file' },
    { path: 5 },
    { text: '' },
    { text: '{"model_type": "llama"' },
    { text: '{"__proto__": {"a": 1}}' },
    { text: '['.repeat(5000) },
    { text: '{"model_type": "llama", "hidden_size": -1}', name: 'config.json' },
    { text: '{"model_type": "llama", "hidden_size": 1e400}', name: 'config.json' },
    { text: 'x', path: llama },
    { path: llama, set: { 'layout.tensor': 'many' } },
    { path: llama, set: { 'layout.tensr': 8 } },
    { path: llama, set: { __proto__x: 1 } },
    { path: llama, set: { 'training.precision': 'fp13' } },
    { path: llama, gpu: 'H9000' },
  ];
  const asked = (name: string): Record<string, unknown> => {
    const example: Record<string, unknown> = tools[name]?.example ?? {};
    return Object.fromEntries(
      Object.entries(example).filter(([key]) => !['path', ...(name === 'terapipe_patch' ? [] : ['set'])].includes(key)),
    );
  };
  const ofFiles = names.flatMap((name) => files.map((input) => [name, { ...asked(name), ...input }] as const));
  const others = Object.keys(tools).map((name) => [name, { ...(tools[name]?.example as object), nonsense: true }] as const);
  const all = [...others, ...ofFiles];
  assert.ok(all.length >= 200, `${all.length} inputs`);
  return all;
}
