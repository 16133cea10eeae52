import assert from 'node:assert/strict';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import * as vscode from 'vscode';
import { until } from '../until';

const folder = vscode.Uri.joinPath(vscode.workspace.workspaceFolders![0]!.uri, 'trained');
const run = vscode.Uri.joinPath(folder, 'run');

/** An interpreter that has a PyTorch of a version, and notes what it is started with. */
async function choosePython(version: string): Promise<void> {
  const program = path.join(folder.fsPath, 'python');
  const answer = JSON.stringify({ version, gpus: 0 });
  // Moved to its name, so that it is never read half written.
  const note = `printf '%s\\n' "$@" > started.part && mv started.part started.txt`;
  writeFileSync(program, `#!/bin/sh\nif [ "$1" = -c ]; then echo '${answer}'; else ${note}; fi\n`);
  chmodSync(program, 0o755);
  await vscode.workspace.getConfiguration('terapipe').update('python', program, vscode.ConfigurationTarget.Global);
}

async function openConfig(): Promise<vscode.Uri> {
  const uri = vscode.Uri.joinPath(folder, 'terapipe.json');
  const config = {
    model: { layers: 4, hidden: 64, heads: 4, ffn: 128, vocab: 256, positions: 'learned', norm: 'layernorm' },
    cluster: { gpu: 'L40S', nodes: 1, gpusPerNode: 2 },
    training: { sequenceLength: 64, microBatch: 1, globalBatch: 4, precision: 'fp32', recompute: 'none', dropout: false },
    layout: { tensor: 1, pipeline: 2, data: 1 },
    schedule: '1F1B',
  };
  await vscode.workspace.fs.writeFile(uri, Buffer.from(JSON.stringify(config)));
  await vscode.commands.executeCommand('vscode.open', uri, { preview: false });
  return uri;
}

/** What the interpreter was started with; undefined: nothing yet. */
function started(): string[] | undefined {
  try {
    return readFileSync(path.join(run.fsPath, 'started.txt'), 'utf8').trimEnd().split('\n');
  } catch {
    return undefined;
  }
}

describe('Run here', () => {
  afterEach(async () => {
    await vscode.workspace.getConfiguration('terapipe').update('python', undefined, vscode.ConfigurationTarget.Global);
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    await vscode.workspace.fs.delete(folder, { recursive: true, useTrash: false });
  });

  it('writes the run and starts it with the chosen interpreter in a terminal', async () => {
    const uri = await openConfig();
    await choosePython('2.15.0');
    const ended = new Promise<number | undefined>((resolve) => {
      const listening = vscode.tasks.onDidEndTaskProcess(({ execution, exitCode }) => {
        if (execution.task.source !== 'TeraPipe') return;
        listening.dispose();
        resolve(exitCode);
      });
    });
    await vscode.commands.executeCommand('terapipe.runHere', uri, { what: 'check', folder: run, onCpu: true });
    const words = await until('the start of the interpreter', started);
    assert.deepEqual(words, ['train.py', 'plan.json', '--check', '--device', 'cpu']);
    assert.equal(await ended, 0);
    const plan = JSON.parse(readFileSync(path.join(run.fsPath, 'plan.json'), 'utf8')) as { readonly kind: string };
    assert.equal(plan.kind, 'terapipe-torch-plan');
    assert.match(readFileSync(path.join(run.fsPath, 'train.py'), 'utf8'), /terapipe_torch/);
  });

  it('profiles into the folder of the profiles of its config', async () => {
    const uri = await openConfig();
    await choosePython('2.15.0');
    await vscode.commands.executeCommand('terapipe.runHere', uri, { what: 'profile', folder: run, onCpu: true });
    const [train, plan, option, file = '', ...device] = await until('the start of the interpreter', started);
    assert.deepEqual([train, plan, option, ...device], ['train.py', 'plan.json', '--profile', '--device', 'cpu']);
    assert.match(file, /\.terapipe[/\\]profiles[/\\]torch-.+\.json$/);
    assert.equal(statSync(path.dirname(file)).isDirectory(), true);
  });

  it('starts nothing with a PyTorch that is too old', async () => {
    const uri = await openConfig();
    await choosePython('1.13.1');
    const before = vscode.tasks.taskExecutions.length;
    await vscode.commands.executeCommand('terapipe.runHere', uri, { what: 'train', folder: run, onCpu: true });
    assert.deepEqual([started(), vscode.tasks.taskExecutions.length], [undefined, before]);
  });
});
