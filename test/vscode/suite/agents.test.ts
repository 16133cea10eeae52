import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { countTokens, mostTokens } from '../../../src/features/agents/core/tool';

const top = vscode.workspace.workspaceFolders![0]!.uri;
const folder = vscode.Uri.joinPath(top, 'agents');
const file = (name: string): vscode.Uri => vscode.Uri.joinPath(folder, name);
const model = { model_type: 'gpt2', n_layer: 12, n_embd: 256, n_head: 4, n_positions: 256, vocab_size: 1000 };
const run = {
  model: 'config.json',
  cluster: { gpu: 'A100-40GB', nodes: 1, gpusPerNode: 4 },
  training: { sequenceLength: 256, globalBatch: 8 },
  layout: { tensor: 1, pipeline: 4, data: 1 },
};

interface Declared {
  readonly contributes: { readonly languageModelTools: readonly { readonly name: string }[] };
}

const declared = (vscode.extensions.getExtension('terapipe.terapipe')!.packageJSON as Declared).contributes.languageModelTools.map(
  ({ name }) => name,
);

/** What a tool answers: its sentences, and its data. */
async function call(
  name: string,
  input: object,
  token?: vscode.CancellationToken,
): Promise<{ text: string; data: Record<string, unknown> }> {
  const { content } = await vscode.lm.invokeTool(name, { input, toolInvocationToken: undefined }, token);
  const [text = '', data = ''] = content.map((part) => (part as vscode.LanguageModelTextPart).value);
  return { text, data: JSON.parse(data) as Record<string, unknown> };
}

describe('tools for agents', () => {
  before(() => {
    mkdirSync(folder.fsPath, { recursive: true });
    writeFileSync(file('config.json').fsPath, JSON.stringify(model));
    writeFileSync(file('terapipe.json').fsPath, JSON.stringify(run, null, 2));
  });

  it('are all there', () => {
    const listed = vscode.lm.tools.map(({ name }) => name).filter((name) => name.startsWith('terapipe_'));
    assert.equal(declared.length, 15);
    assert.deepEqual(listed.toSorted(), declared.toSorted());
  });

  it('answer in sentences and data', async () => {
    const { text, data } = await call('terapipe_plan', { path: 'agents/terapipe.json' });
    assert.match(text, /PP4/);
    assert.equal(typeof data['stepMs'], 'number');
  });

  it('answer, each of them, within its budget of tokens', async () => {
    const path = 'agents/terapipe.json';
    const inputs: Readonly<Record<string, object>> = {
      terapipe_search: { path, gpus: 4, set: { schedule: '1F1B' }, free: ['layout'] },
      terapipe_compare: { path, other: { set: { 'layout.pipeline': 2, 'layout.data': 2 } } },
      terapipe_values: { path, key: 'layout.tensor' },
      terapipe_max: { path, what: 'layers' },
      terapipe_oom: {
        path,
        logText: 'CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.5 GiB of which 1.20 GiB is free.',
      },
      terapipe_where: { path, on: ['A100-80GB:4', 'H100-80GB:4'] },
      terapipe_days: { path, tokens: 1e12 },
      terapipe_patch: { path, set: { 'training.microBatch': 1 } },
      terapipe_calibrate: { path, stepMs: 3000 },
      terapipe_prefill: { path: 'agents/config.json', prompt: 256, stages: 2, set: { 'layout.pipeline': 2 } },
    };
    for (const name of declared) {
      const { text, data } = await call(name, inputs[name] ?? { path });
      assert.equal('error' in data, false, `${name}: ${text}`);
      assert.ok(countTokens(text + JSON.stringify(data)) <= mostTokens, `${name}: ${text}`);
    }
  });

  it('see edits that are not saved', async () => {
    const before = await call('terapipe_plan', { path: 'agents/terapipe.json' });
    const document = await vscode.workspace.openTextDocument(file('terapipe.json'));
    await vscode.window.showTextDocument(document);
    const at = document.getText().indexOf('"globalBatch": 8') + '"globalBatch": '.length;
    const edit = new vscode.WorkspaceEdit();
    edit.replace(document.uri, new vscode.Range(document.positionAt(at), document.positionAt(at + 1)), '80');
    assert.ok(await vscode.workspace.applyEdit(edit));
    const after = await call('terapipe_plan', { path: 'agents/terapipe.json' });
    await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
    assert.ok(
      Number(after.data['stepMs']) > 5 * Number(before.data['stepMs']),
      `${String(before.data['stepMs'])}, ${String(after.data['stepMs'])}`,
    );
  });

  it('report how to ask, whatever they are asked', async () => {
    for (const input of [{}, { path: 7 }, { path: 'nothing.json' }, { path: 'agents/terapipe.json', nodse: 2 }, { text: 'x', path: 'y' }]) {
      const { text } = await call('terapipe_plan', input);
      assert.match(text, /Ask as terapipe_plan \{/, JSON.stringify(input));
    }
  });

  it('read nothing outside the workspace', async () => {
    const elsewhere = path.join(os.tmpdir(), `terapipe-elsewhere-${process.pid}.json`);
    writeFileSync(elsewhere, JSON.stringify({ ...model, n_embd: 512 }));
    symlinkSync(elsewhere, file('linked.json').fsPath);
    for (const asked of [elsewhere, '../../../../../../..' + elsewhere, 'agents/linked.json']) {
      const { text } = await call('terapipe_inspect', { path: asked });
      assert.match(text, /outside the folders/, asked);
    }
    const named = await call('terapipe_inspect', { text: JSON.stringify({ ...run, model: elsewhere }), name: 'terapipe.json' });
    assert.match(named.text, /outside the folders/);
    assert.doesNotMatch(JSON.stringify(named), /512/);
  });

  it('stop when they are cancelled, and answer the next call', async () => {
    const source = new vscode.CancellationTokenSource();
    const text = JSON.stringify({ ...model, n_layer: 96, n_embd: 12288, n_head: 96, n_positions: 2048 });
    const search = call('terapipe_search', { text, name: 'config.json', gpu: 'H100-80GB', nodes: 64, seconds: 60 }, source.token);
    setTimeout(() => source.cancel(), 1000);
    await assert.rejects(search);
    const next = await call('terapipe_values', { path: 'agents/terapipe.json', key: 'layout.tensor' });
    assert.match(next.text, /heads/);
  });
});
