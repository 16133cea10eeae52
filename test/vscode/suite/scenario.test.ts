import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { until } from '../until';

const folder = vscode.Uri.joinPath(vscode.workspace.workspaceFolders![0]!.uri, 'scenarios');

const llama8b = `{
  "model_type": "llama",
  "hidden_size": 4096,
  "intermediate_size": 14336,
  "num_hidden_layers": 32,
  "num_attention_heads": 32,
  "num_key_value_heads": 8,
  "vocab_size": 128256,
  "max_position_embeddings": 8192
}
`;
/** 13B parameters, of which each GPU has all weights and gradients. */
const tooLarge = `#!/bin/bash
TP=1
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py --tensor-model-parallel-size $TP --pipeline-model-parallel-size 1 \\
  --num-layers 40 --hidden-size 5120 --num-attention-heads 40 --seq-length 4096 --max-position-embeddings 4096 \\
  --micro-batch-size 1 --global-batch-size 64 --use-distributed-optimizer --use-flash-attn --vocab-size 32000 --bf16
`;

async function open(name: string, text: string): Promise<vscode.TextDocument> {
  const uri = vscode.Uri.joinPath(folder, name);
  await vscode.workspace.fs.writeFile(uri, Buffer.from(text));
  await vscode.commands.executeCommand('vscode.open', uri, { preview: false });
  return until(
    `open editor of ${name}`,
    () => vscode.window.visibleTextEditors.find(({ document }) => document.uri.path === uri.path)?.document,
  );
}

async function replace(document: vscode.TextDocument, from: string, to: string): Promise<void> {
  const edit = new vscode.WorkspaceEdit();
  const at = document.getText().indexOf(from);
  edit.replace(document.uri, new vscode.Range(document.positionAt(at), document.positionAt(at + from.length)), to);
  assert.ok(await vscode.workspace.applyEdit(edit));
}

/** Titles and tooltips of a file's lenses. */
async function lenses({ uri }: vscode.TextDocument): Promise<string[]> {
  const found = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri, 20);
  return found.flatMap(({ command }) => (command === undefined ? [] : [command.title, ...(command.tooltip ?? '').split('; ')]));
}

const remarks = ({ uri }: vscode.TextDocument) => vscode.languages.getDiagnostics(uri).filter(({ source }) => source === 'terapipe');
const isCode = ({ code }: vscode.Diagnostic, name: string): boolean => typeof code === 'object' && code.value === name;

/** Seconds of a step that a lens shows, and their scenario. */
function stepOf(titles: readonly string[]): { readonly seconds: number; readonly scenario: string } | undefined {
  const [, amount, unit] = titles.map((title) => /([\d.]+) (m?s) \/ step/.exec(title)).find((match) => match !== null) ?? [];
  const scenario = titles.find((title) => /^\d+ x .* · batch \d/.test(title));
  return amount === undefined || scenario === undefined ? undefined : { seconds: Number(amount) / (unit === 'ms' ? 1e3 : 1), scenario };
}

/** Time for as many tokens over that of the plan, of `…: fits, 8.02 % slower`. */
function costOf(title: string): number {
  const [, amount = '', how = ''] = /: fits, (?:([\d.]+) ?(% slower|% faster|x the time|x as fast)|as fast)$/.exec(title) ?? [];
  const times = how.startsWith('%') ? 1 + Number(amount) / 100 : Number(amount);
  return amount === '' ? 1 : how.endsWith('faster') || how.endsWith('as fast') ? 1 / times : times;
}

describe('the scenario of a config', () => {
  before(() => vscode.workspace.fs.createDirectory(folder));
  afterEach(async () => {
    await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
  });

  it('stays while it is edited: half as many layers again take longer', async () => {
    const document = await open('config.json', llama8b);
    const before = await until('plan', async () => stepOf(await lenses(document)));
    assert.equal(before.scenario, '8 x H100-80GB · 4,096 tokens · batch 32');
    await replace(document, '"num_hidden_layers": 32', '"num_hidden_layers": 48');
    const after = await until('plan of 48 layers', async () => {
      const titles = await lenses(document);
      const step = stepOf(titles);
      return step === undefined || step.seconds === before.seconds || titles.some((title) => /edits|Planning/.test(title))
        ? undefined
        : step;
    });
    assert.equal(after.scenario, before.scenario);
    assert.ok(after.seconds > 1.3 * before.seconds, `${before.seconds} s, then ${after.seconds} s`);
  });

  it('that does not fit has one finding, whose fixes begin with the cheapest, the best layout among them', async () => {
    const document = await open('train.sh', tooLarge);
    const finding = await until('finding', () => remarks(document).find((each) => isCode(each, 'memory-over-capacity')));
    const fixes = await until('fixes with the best layout', async () => {
      const range = remarks(document).find((each) => isCode(each, 'memory-over-capacity'))?.range ?? finding.range;
      const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>('vscode.executeCodeActionProvider', document.uri, range);
      const fits = actions.filter(({ title }) => title.includes(': fits'));
      return fits.length > 1 && fits.some(({ title }) => title.startsWith('Apply the best layout…')) ? actions : undefined;
    });
    const titles = fixes.map(({ title }) => title);
    const costs = titles.filter((title) => title.includes(': fits, ')).map(costOf);
    assert.deepEqual(
      costs,
      costs.toSorted((a, b) => a - b),
      titles.join(' | '),
    );
    assert.ok(titles.includes('Choose GPU…'), titles.join(' | '));
    assert.deepEqual(
      fixes.filter(({ isPreferred }) => isPreferred === true).map(({ title }) => title),
      [titles.find((title) => title.includes(': fits, '))],
    );
    assert.equal(remarks(document).filter(({ message }) => message.includes('does not fit')).length, 1);
  });

  it('of a value half typed is that of before, with one finding', async () => {
    const document = await open('typed.sh', tooLarge);
    const before = await until('plan', async () => stepOf(await lenses(document)));
    await replace(document, 'TP=1', 'TP=');
    await until('error', () => remarks(document).find(({ severity }) => severity === vscode.DiagnosticSeverity.Error));
    await replace(document, 'TP=', 'TP=3');
    const errors = await until('error of 3', () => {
      const found = remarks(document).filter(({ severity }) => severity === vscode.DiagnosticSeverity.Error);
      return found.some(({ message }) => message.includes('tensor size of 3')) ? found : undefined;
    });
    assert.equal(errors.length, 1, errors.map(({ message }) => message).join(' | '));
    const titles = await until('lens of the last plan', async () => {
      const found = await lenses(document);
      return found.some((title) => title.includes('before: ')) ? found : undefined;
    });
    assert.deepEqual(stepOf(titles), before);
  });
});
