import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as vscode from 'vscode';
import { until } from '../until';
import { timelineTabs } from './timeline-tabs';

const folder = vscode.Uri.joinPath(vscode.workspace.workspaceFolders![0]!.uri, 'rehearsed');

/** Small enough for seconds on two cores; a longer one is `batch` times as long. */
async function openConfig(batch: number): Promise<vscode.Uri> {
  const uri = vscode.Uri.joinPath(folder, 'terapipe.json');
  const config = {
    model: { layers: 4, hidden: 64, heads: 4, ffn: 128, vocab: 256, positions: 'learned', norm: 'layernorm' },
    cluster: { gpu: 'L40S', nodes: 1, gpusPerNode: 2 },
    training: { sequenceLength: 64, microBatch: 1, globalBatch: batch, precision: 'fp32', recompute: 'none', dropout: false },
    layout: { tensor: 1, pipeline: 2, data: 1 },
    schedule: '1F1B',
  };
  await vscode.workspace.fs.writeFile(uri, Buffer.from(JSON.stringify(config)));
  await vscode.commands.executeCommand('vscode.open', uri, { preview: false });
  return uri;
}

/** Process numbers of children of this extension host that run stages. */
function children(): number[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
  return lines.flatMap((line) => {
    const [, pid, parent, command] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return Number(parent) === process.pid && command?.includes('profiler.js stage') === true ? [Number(pid)] : [];
  });
}

describe('a rehearsal', () => {
  afterEach(async () => {
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    await vscode.workspace.fs.delete(folder, { recursive: true, useTrash: false });
  });

  it('runs the plan of a config and shows measured and predicted in the Compare tab', async () => {
    const uri = await openConfig(4);
    const sentences = await vscode.commands.executeCommand<readonly string[]>('terapipe.rehearse', uri);
    assert.match(sentences.join(' '), /Gradients are those of the unsliced step: .* took most memory: .* estimated /);
    assert.equal(children().length, 0);
    await until('its tab', () => timelineTabs()[0]);
  });

  it('ends its processes when it is cancelled', async () => {
    const uri = await openConfig(1024);
    const command = vscode.commands.executeCommand('terapipe.rehearse', uri);
    await until('the processes of the stages', () => children().length > 0 || undefined);
    await vscode.commands.executeCommand('terapipe.cancelRehearsal');
    await until('end of the processes', () => children().length === 0 || undefined);
    await command;
  });

  it('survives the death of a stage', async () => {
    const uri = await openConfig(1024);
    const command = vscode.commands.executeCommand('terapipe.rehearse', uri);
    const first = await until('the processes of the stages', () => children()[0]);
    process.kill(first, 'SIGKILL');
    await command;
    await until('end of the other processes', () => children().length === 0 || undefined);
    const lenses = await until('answer of the extension', async () => {
      const found = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri, 10);
      return found.length > 0 ? found : undefined;
    });
    assert.ok(lenses.length > 0);
  });
});
