import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { until } from '../until';
import { timelineTabs } from './timeline-tabs';

const folder = vscode.Uri.joinPath(vscode.workspace.workspaceFolders![0]!.uri, 'prefilled');

describe('a prefill', () => {
  afterEach(async () => {
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    await vscode.workspace.fs.delete(folder, { recursive: true, useTrash: false });
  });

  it('of a model config is planned, and shown in its tab and in a lens', async () => {
    const uri = vscode.Uri.joinPath(folder, 'config.json');
    const config = {
      model_type: 'llama',
      hidden_size: 2048,
      num_hidden_layers: 8,
      num_attention_heads: 16,
      intermediate_size: 8192,
      vocab_size: 32000,
      max_position_embeddings: 16384,
      torch_dtype: 'bfloat16',
    };
    await vscode.workspace.fs.writeFile(uri, Buffer.from(JSON.stringify(config)));
    await vscode.commands.executeCommand('vscode.open', uri, { preview: false });
    const sentences = await vscode.commands.executeCommand<readonly string[]>('terapipe.planPrefill', uri, { tokens: 8192, stages: 4 });
    assert.match(sentences[0] ?? '', /^Time to first token .+ with \d+ chunks$/);
    assert.match(sentences.join('\n'), /^SGLang: .+ slower$/m);
    await until('its lens', async () => {
      const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri, 20);
      return lenses.find(({ command }) => /^First token in [\d.]+ /.test(command?.title ?? ''));
    });
    await until('its tab', () => timelineTabs()[0]);
  });
});
