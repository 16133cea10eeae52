import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { until } from '../until';

const workspace = vscode.workspace.workspaceFolders![0]!.uri;
const models = ['llama-3-8b', 'llama-3-70b', 'qwen3-32b', 'deepseek-v3'] as const;

const problems = (uri: vscode.Uri) => vscode.languages.getDiagnostics(uri).filter(({ source }) => source === 'terapipe');

/** Waits until the lens over a config shows its plan. */
async function planned(uri: vscode.Uri): Promise<string> {
  return until(`plan of ${uri.path}`, async () => {
    const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri, 10);
    return lenses.map(({ command }) => command?.title ?? '').find((title) => title.includes('/ step'));
  });
}

describe('problems of the editor', () => {
  after(async () => {
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    for (const name of [...models, 'padded'])
      await vscode.workspace.fs.delete(vscode.Uri.joinPath(workspace, name), { recursive: true, useTrash: false });
  });

  for (const model of models)
    it(`are none in the files of ${model}, which a command begins with, and these are formatted`, async () => {
      await vscode.commands.executeCommand('terapipe.startModel', model);
      const [plan, sizes] = ['terapipe.json', 'config.json'].map((name) => vscode.Uri.joinPath(workspace, model, name));
      assert.match(await planned(plan!), /^Fits, /);
      assert.deepEqual([...problems(plan!), ...problems(sizes!)], []);
      const text = Buffer.from(await vscode.workspace.fs.readFile(sizes!)).toString();
      assert.ok(text.split('\n').length > 10 && text.endsWith('}\n'), text);
    });

  it('are nothing that asks for nothing: a padded vocabulary is none', async () => {
    const uri = vscode.Uri.joinPath(workspace, 'padded', 'train.sh');
    const script = `#!/bin/bash
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py --tensor-model-parallel-size 2 --num-layers 24 --hidden-size 2048 \\
  --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 \\
  --sequence-parallel --use-distributed-optimizer --use-flash-attn --vocab-size 32001 --bf16
`;
    await vscode.workspace.fs.writeFile(uri, Buffer.from(script));
    await vscode.commands.executeCommand('vscode.open', uri, { preview: false });
    await planned(uri);
    assert.deepEqual(
      problems(uri).map(({ message }) => message).filter((message) => message.includes('nothing needs to be done')),
      [],
    ); // prettier-ignore
  });
});
