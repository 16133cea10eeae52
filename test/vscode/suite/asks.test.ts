import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { formatTokens } from '../../../src/core/format';
import { until } from '../until';

/** A folder for each test, since sessions outlive the files of a test. */
let folder: vscode.Uri;
let tests = 0;

const model = { model_type: 'llama', hidden_size: 2048, num_hidden_layers: 8, num_attention_heads: 16, intermediate_size: 8192 };
const config = { ...model, vocab_size: 32_000, max_position_embeddings: 4096, torch_dtype: 'bfloat16' };

const message = `[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.02 GiB is free. Including non-PyTorch memory, this process has 78.08 GiB memory in use. Of the allocated memory 60.11 GiB is allocated by PyTorch, and 16.50 GiB is reserved by PyTorch but unallocated.\n`;

async function written(name: string, text: string): Promise<vscode.Uri> {
  const uri = vscode.Uri.joinPath(folder, name);
  await vscode.workspace.fs.writeFile(uri, Buffer.from(text));
  await vscode.commands.executeCommand('vscode.open', uri, { preview: false });
  return uri;
}

async function textOf(uri: vscode.Uri): Promise<string> {
  return Buffer.from(await vscode.workspace.fs.readFile(uri)).toString();
}

/** What the document of an answer reads, once its preview is open. */
async function answerText(title: string, shown: RegExp): Promise<string> {
  await until(`preview of ${title}`, () => {
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    return tabs.find(({ label }) => label.includes(title));
  });
  return until(`${String(shown)} in the document of ${title}`, () => {
    const texts = vscode.workspace.textDocuments.filter(({ uri }) => uri.scheme === 'terapipe-report' && uri.path === `/${title}.md`);
    return texts.map((document) => document.getText().replaceAll('\\', '')).find((text) => shown.test(text));
  });
}

describe('the questions people bring', () => {
  beforeEach(() => {
    folder = vscode.Uri.joinPath(vscode.workspace.workspaceFolders![0]!.uri, `asks-${++tests}`);
  });
  afterEach(async () => {
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    await vscode.workspace.fs.delete(folder, { recursive: true, useTrash: false });
  });

  it('the most that fits is found, with its limit, and written into the terapipe.json', async () => {
    await written('config.json', JSON.stringify(config));
    const own = { model: './config.json', cluster: { gpu: { preset: 'A100-40GB', memoryGB: 16 }, nodes: 1 } };
    const uri = await written('terapipe.json', JSON.stringify(own));
    const ask = () => vscode.commands.executeCommand<readonly string[]>('terapipe.findLargest', uri, 'sequence', 'write');
    const [headline = '', limit = '', next = ''] = await ask();
    const [, tokens = ''] = /^Most that fits: ([\d,]+) tokens$/.exec(headline) ?? [];
    const size = Number(tokens.replaceAll(',', ''));
    assert.ok(size >= 1024, headline);
    assert.match(limit, /^Limit: stage \d+ of \d+, .+ usable, most of it .+/);
    assert.match(next, /^Next: [\d,]+ tokens: does not fit, .+ over on stage \d+$/);
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
    const { training } = JSON.parse(document!.getText()) as { readonly training: { readonly sequenceLength: number } };
    assert.equal(training.sequenceLength, size);
    await document!.save();
    assert.equal((await ask())[0], headline, 'what was written is the most that fits');
  });

  it('the most that fits is planned with, where no file sets it', async () => {
    const long = JSON.stringify({ ...config, max_position_embeddings: 1_048_576 });
    const uri = await written('config.json', long);
    const [headline = ''] = await vscode.commands.executeCommand<readonly string[]>('terapipe.findLargest', uri, 'sequence', 'try');
    const [, tokens = ''] = /^Most that fits: ([\d,]+) tokens$/.exec(headline) ?? [];
    const planned = formatTokens(Number(tokens.replaceAll(',', '')));
    await until(`lens with ${planned}`, async () => {
      const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri, 20);
      return lenses.find(({ command }) => `${command?.title} ${command?.tooltip}`.includes(`· ${planned} ·`));
    });
    assert.equal(await textOf(uri), long);
  });

  it('machines rank by the prices of the setting', async () => {
    const uri = await written('config.json', JSON.stringify(config));
    const settings = vscode.workspace.getConfiguration('terapipe', uri);
    await settings.update('cost.prices', { 'H100-80GB': 100, 'A100-80GB': 1 }, vscode.ConfigurationTarget.Global);
    try {
      const on = 'H100-80GB:8,A100-80GB:8,H200:12';
      const [headline = ''] = await vscode.commands.executeCommand<readonly string[]>('terapipe.where', uri, on);
      assert.match(headline, /^Cheapest: 8 x A100-80GB: TP/);
      const text = await answerText('Where to train', /cost \/ 1B tokens/);
      assert.match(text, /## Not planned\n\n- \*\*H200\*\*: 12 GPUs are not whole nodes/);
    } finally {
      await settings.update('cost.prices', undefined, vscode.ConfigurationTarget.Global);
    }
  });

  it('the whole run is answered for tokens that are given', async () => {
    const uri = await written('config.json', JSON.stringify(config));
    const sentences = await vscode.commands.executeCommand<readonly string[]>('terapipe.days', uri, 1e12);
    assert.match(sentences[0] ?? '', /: 1T tokens on \d+ GPUs$/);
    assert.match(sentences.join('\n'), /^goodput [\d.]+ % \(.+\)$/m);
    await answerText('The whole run', /- \*\*GPU hours\*\*: [\d.]+/);
  });

  it('an out-of-memory error is explained from the log that is open', async () => {
    await written('train.log', message);
    const verdict = await vscode.commands.executeCommand<readonly string[]>('terapipe.explainOom', undefined, 'none');
    assert.match(verdict[0] ?? '', /^Fragmentation: 16\.5 GiB are reserved and in no tensor/);
    assert.match(verdict[1] ?? '', /expandable_segments:True/);
    await answerText('Out of memory', /- \*\*free\*\*: 1\.02 GiB/);
  });

  it('an out-of-memory error is put next to the plan of its config', async () => {
    const log = await written('train.log', message);
    const uri = await written('config.json', JSON.stringify(config));
    await vscode.commands.executeCommand('terapipe.explainOom', log, uri);
    await answerText('Out of memory', /\| reserved \| 76\.6 GiB \| [\d.]+ [GM]iB \|/);
  });
});
