import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { until } from '../until';
import { timelineTabs } from './timeline-tabs';

const folder = vscode.Uri.joinPath(vscode.workspace.workspaceFolders![0]!.uri, 'compare');

function config(change: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    model: { layers: 8, hidden: 1024, heads: 16, vocab: 32000 },
    cluster: { gpu: 'A100-80GB', nodes: 1, gpusPerNode: 8 },
    training: { sequenceLength: 1024, globalBatch: 16, microBatch: 1 },
    layout: { tensor: 1, pipeline: 4, data: 2 },
    schedule: '1F1B',
    ...change,
  });
}

async function write(name: string, text: string): Promise<vscode.Uri> {
  const uri = vscode.Uri.joinPath(folder, name);
  await vscode.workspace.fs.writeFile(uri, Buffer.from(text));
  return uri;
}

const compare = (own: vscode.Uri, other: unknown): Thenable<readonly string[] | undefined> =>
  vscode.commands.executeCommand('terapipe.compareWith', own, other);

/** A trace as Megatron-LM's timers name its passes: 1F1B on four stages, 8 micro-batches, the last stage three times as slow. */
function trace(): string {
  const [stages, microBatches] = [4, 8];
  const done = new Map<string, number>();
  const free = Array.from({ length: stages }, () => 0);
  const orders = Array.from({ length: stages }, (_, stage) => {
    const ahead = Math.min(stages - stage, microBatches);
    const order: string[] = Array.from({ length: ahead }, (_, unit) => `F${unit}`);
    for (let unit = 0; unit < microBatches; unit++) order.push(`B${unit}`, ...(unit + ahead < microBatches ? [`F${unit + ahead}`] : []));
    return order;
  });
  const events: object[] = [];
  for (let left = stages * microBatches * 2; left > 0;) {
    for (const [stage, order] of orders.entries()) {
      const [pass] = order;
      if (pass === undefined) continue;
      const isForward = pass.startsWith('F');
      const source = isForward ? stage - 1 : stage + 1;
      const ready = source < 0 ? 0 : source >= stages ? done.get(`${stage} F${pass.slice(1)}`) : done.get(`${source} ${pass}`);
      if (ready === undefined) continue;
      const start = Math.max(ready, free[stage]!);
      const end = start + (isForward ? 2000 : 4000) * (stage === stages - 1 ? 3 : 1);
      done.set(`${stage} ${pass}`, end);
      free[stage] = end;
      events.push({ ph: 'X', pid: stage, tid: 0, ts: start, dur: end - start, name: `PP:${stage}${pass}` });
      order.shift();
      left -= 1;
    }
  }
  return JSON.stringify({ traceEvents: events });
}

describe('a plan compared with another', () => {
  before(() => vscode.workspace.fs.createDirectory(folder));
  afterEach(async () => {
    await vscode.window.tabGroups.close(timelineTabs());
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
  });

  it('is compared with another config in its tab, by command or by two files picked in the explorer', async () => {
    const own = await write('own.terapipe.json', config());
    const other = await write('other.terapipe.json', config({ schedule: 'GPipe' }));
    const sentences = await compare(own, other);
    assert.match(sentences?.join(' ') ?? '', /B needs [\d.]+ [KMG]iB more memory/);
    await until('tab', () => (timelineTabs().length === 1 ? true : undefined));
    assert.deepEqual(await compare(own, [own, other]), sentences, 'the two files that are picked in the explorer');
    const same = await compare(own, own);
    assert.match(same?.[0] ?? '', /A and B are the same plan/);
  });

  it('is compared with a trace, whose straggler is named, and with step times', async () => {
    const own = await write('run.terapipe.json', config());
    const recorded = await write('trace.json', trace());
    const sentences = (await compare(own, recorded)) ?? [];
    assert.match(sentences.join(' '), /Stage 3 is the straggler/);
    const times = await write('times.csv', 'step_ms\n300\n100\n101\n102\n');
    assert.match((await compare(own, times))?.[0] ?? '', /^A step takes 101 ms/);
  });

  it('shows nothing for a file that is not a run, and refuses a schedule', async () => {
    const own = await write('bad.terapipe.json', config());
    const cut = await write('cut.json', '{"traceEvents":[{"name":"PP:0F0"');
    assert.deepEqual(await compare(own, cut), []);
    assert.equal(await compare(own, await write('order.csv', '0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n')), undefined);
  });
});
