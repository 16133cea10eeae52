import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import * as vscode from 'vscode';
import { until } from '../until';

const folder = vscode.Uri.joinPath(vscode.workspace.workspaceFolders![0]!.uri, 'checked');
const config = vscode.Uri.joinPath(folder, 'heads.terapipe.json');

/** The exit code of a task, once it has ended. */
async function runTask(task: vscode.Task): Promise<number | undefined> {
  const ended = new Promise<number | undefined>((resolve) => {
    const listening = vscode.tasks.onDidEndTaskProcess(({ execution, exitCode }) => {
      if (execution.task.name !== task.name) return;
      listening.dispose();
      resolve(exitCode);
    });
  });
  await vscode.tasks.executeTask(task);
  return ended;
}

describe('tasks', () => {
  before(() => {
    mkdirSync(folder.fsPath, { recursive: true });
    const model = { layers: 4, hidden: 1024, heads: 6, vocab: 1000 };
    writeFileSync(config.fsPath, JSON.stringify({ model, layout: { tensor: 4 } }));
  });

  it('offer a check of the workspace, and run it with what it finds as problems', async () => {
    const [check, ...others] = await vscode.tasks.fetchTasks({ type: 'terapipe' });
    assert.ok(check !== undefined && others.length === 0);
    assert.equal(check.name, 'check .');
    assert.equal(await runTask(check), 1);
    await until(
      'problem of the task',
      () => vscode.languages.getDiagnostics(config).some(({ source }) => source === 'terapipe') || undefined,
    );
  });
});
