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

/** What a person answers to the next question of each kind, in turn; undefined closes it. */
interface Answers {
  readonly picks?: readonly ((items: readonly vscode.QuickPickItem[]) => unknown)[];
  readonly inputs?: readonly (string | undefined)[];
  readonly saved?: vscode.Uri;
  /** Button of the first notification that has it. */
  readonly button?: string;
}

/** Runs with the questions of VS Code answered; resolves to what was asked and offered. */
async function answered<T>({ picks = [], inputs = [], saved, button }: Answers, run: (offered: readonly string[]) => PromiseLike<T>) {
  const { showQuickPick, showInputBox, showSaveDialog, showInformationMessage } = vscode.window;
  const [asked, offered]: [string[], string[]] = [[], []];
  const [leftPicks, leftInputs] = [[...picks], [...inputs]];
  Object.assign(vscode.window, {
    showQuickPick: async (items: readonly vscode.QuickPickItem[] | Thenable<readonly vscode.QuickPickItem[]>) => {
      const list = await items;
      asked.push(...list.map(({ label }) => label));
      return leftPicks.shift()?.(list);
    },
    showInputBox: () => Promise.resolve(leftInputs.shift()),
    showSaveDialog: () => Promise.resolve(saved),
    showInformationMessage: (_: string, ...buttons: readonly string[]) => {
      offered.push(...buttons);
      const isHit = button !== undefined && buttons.includes(button) && offered.filter((one) => one === button).length === 1;
      return Promise.resolve(isHit ? button : undefined);
    },
  });
  try {
    const value = await run(offered);
    return { value, asked, offered };
  } finally {
    Object.assign(vscode.window, { showQuickPick, showInputBox, showSaveDialog, showInformationMessage });
  }
}

const labelled =
  (label: string) =>
  (items: readonly vscode.QuickPickItem[]): vscode.QuickPickItem | undefined =>
    items.find((item) => item.label === label);

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
    const [headline = '', limit = '', next = '', doubtful = ''] = await ask();
    const [, tokens = ''] = /^Most that fits: ([\d,]+) tokens$/.exec(headline) ?? [];
    const size = Number(tokens.replaceAll(',', ''));
    assert.ok(size >= 1024, headline);
    assert.match(limit, /^Limit: stage \d+ of \d+, .+ usable, most of it .+/);
    assert.match(next, /^Next: [\d,]+ tokens: may not fit: uses .+ of the safety margin on stage \d+$/);
    assert.match(doubtful, /^May fit: up to [\d,]+ tokens may fit, but may not$/);
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

  it('what is to be the most is picked, and its answer offers to try, to write, and to search layouts too', async () => {
    const uri = await written('config.json', JSON.stringify(config));
    const ask = () => vscode.commands.executeCommand<readonly string[]>('terapipe.findLargest', uri);
    const { value, asked, offered } = await answered({ picks: [labelled('Largest micro-batch')] }, ask);
    assert.match(value[0] ?? '', /^Most that fits: [\d,]+ sequences?$/);
    assert.deepEqual(asked, ['Longest sequence', 'Largest micro-batch', 'Most layers', 'Largest LoRA rank', 'Most experts', 'Fewest GPUs']);
    assert.deepEqual(offered, ['Plan with it', 'Write into terapipe.json', 'Details', 'Search layouts too']);
    const closed = await answered({ picks: [() => undefined] }, ask);
    assert.deepEqual([closed.value, closed.offered], [undefined, []]);
  });

  it('the most that fits with the layout searched is written with that layout', async () => {
    await written('config.json', JSON.stringify(config));
    const own = { model: './config.json', cluster: { gpu: { preset: 'A100-40GB', memoryGB: 8 }, nodes: 1, gpusPerNode: 2 } };
    const uri = await written('terapipe.json', JSON.stringify(own));
    const ask = (layout?: string) =>
      vscode.commands.executeCommand<readonly string[]>(
        'terapipe.findLargest',
        uri,
        'sequence',
        layout === undefined ? undefined : 'write',
        layout,
      );
    const found = (sentences: readonly string[]): number => Number(/: ([\d,]+) tokens$/.exec(sentences[0] ?? '')?.[1]?.replaceAll(',', ''));
    const { value: kept } = await answered({}, () => ask());
    const searched = await ask('search');
    assert.ok(found(searched) >= found(kept), `${searched[0]} after ${kept[0]}`);
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
    const { training, layout } = JSON.parse(document!.getText()) as { readonly training: object; readonly layout: object };
    assert.deepEqual(['sequenceLength', 'recompute'].filter((key) => !(key in training)), []); // prettier-ignore
    assert.ok('tensor' in layout && 'pipeline' in layout);
    await document!.save();
  });

  it('the button of the answer searches layouts too', async () => {
    const uri = await written('config.json', JSON.stringify(config));
    const { offered } = await answered({ button: 'Search layouts too' }, async (offers) => {
      await vscode.commands.executeCommand('terapipe.findLargest', uri, 'sequence');
      await until('answer with layouts searched', () => offers.filter((one) => one === 'Details').length === 2 || undefined);
    });
    assert.equal(offered.filter((one) => one === 'Search layouts too').length, 1, 'the second answer has searched');
  });

  it('machines are picked from GPUs and machine types', async () => {
    const uri = await written('config.json', JSON.stringify(config));
    const pick = (items: readonly vscode.QuickPickItem[]) => items.filter(({ label }) => label === 'H100-80GB' || label === 'A100-80GB');
    const { value, asked } = await answered({ picks: [pick] }, () =>
      vscode.commands.executeCommand<readonly string[]>('terapipe.where', uri),
    );
    assert.match(value[0] ?? '', /^Fewest GPU hours: /);
    assert.ok(asked.includes('p5.48xlarge') && asked.includes('MI300X'));
    await answerText('Where to train', /A100-80GB/);
  });

  it('tokens of the whole run are asked for', async () => {
    const uri = await written('config.json', JSON.stringify(config));
    const ask = () => vscode.commands.executeCommand<readonly string[] | undefined>('terapipe.days', uri);
    const { value } = await answered({ inputs: ['2T'] }, ask);
    assert.match(value?.[0] ?? '', /: 2T tokens on \d+ GPUs$/);
    assert.equal((await answered({ inputs: [undefined] }, ask)).value, undefined);
  });

  it('the config of an out-of-memory error is picked, and the plan is saved as a snapshot', async () => {
    const uri = await written('config.json', JSON.stringify(config));
    const log = await written('train.log', message);
    const saved = vscode.Uri.joinPath(folder, 'plan.pickle');
    const button = "Save the plan's snapshot for PyTorch's memory viewer";
    const path = vscode.workspace.asRelativePath(uri);
    const { asked, offered } = await answered({ picks: [(items) => items[0]], button, saved }, async () => {
      await vscode.commands.executeCommand('terapipe.explainOom', log);
      await until('saved snapshot', async () => vscode.workspace.fs.stat(saved).then(() => true, () => undefined)); // prettier-ignore
    });
    assert.deepEqual([asked[0], ...asked.slice(1)], [path, 'Another config', 'Without a config']);
    assert.ok(offered.includes(button));
    const bytes = await vscode.workspace.fs.readFile(saved);
    assert.equal(bytes[0], 0x80, 'a pickle');
    const read = await vscode.commands.executeCommand<readonly string[]>('terapipe.explainOom', saved, 'none');
    assert.match(read[0] ?? '', /^No out-of-memory error/);
  });

  it('an out-of-memory error is explained without a config where none is wanted', async () => {
    await written('config.json', JSON.stringify(config));
    const log = await written('train.log', message);
    const { value, offered } = await answered({ picks: [labelled('Without a config')] }, () =>
      vscode.commands.executeCommand<readonly string[]>('terapipe.explainOom', log),
    );
    assert.match(value[0] ?? '', /^Fragmentation: /);
    assert.deepEqual(offered, []);
  });
});
