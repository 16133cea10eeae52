import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { until } from '../until';

const folder = vscode.workspace.workspaceFolders![0]!.uri;

const codeOf = (diagnostic: vscode.Diagnostic) =>
  typeof diagnostic.code === 'object' ? String(diagnostic.code.value) : String(diagnostic.code ?? '');

const remarks = (uri: vscode.Uri) => vscode.languages.getDiagnostics(uri).filter(({ source }) => source === 'terapipe');

async function open(name: string, text: string): Promise<vscode.TextDocument> {
  const uri = vscode.Uri.joinPath(folder, 'launchers', name);
  await vscode.workspace.fs.writeFile(uri, Buffer.from(text));
  await vscode.commands.executeCommand('vscode.open', uri, { preview: false });
  return until(
    `open editor of ${name}`,
    () => vscode.window.visibleTextEditors.find(({ document }) => document.uri.path === uri.path)?.document,
  );
}

/** Waits for a finding, applies its preferred fix, and waits until the finding is gone. */
async function applyFix(document: vscode.TextDocument, code: string): Promise<void> {
  const found = await until(`${code} in ${document.uri.path}`, () =>
    remarks(document.uri).find((diagnostic) => codeOf(diagnostic) === code),
  );
  const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>('vscode.executeCodeActionProvider', document.uri, found.range);
  const fix = actions.find(({ edit, title }) => edit !== undefined && title.startsWith('Set '));
  assert.ok(fix?.edit !== undefined, `no fix of ${code} among ${actions.map(({ title }) => title).join(', ')}`);
  assert.ok(await vscode.workspace.applyEdit(fix.edit));
  await until(`${code} gone`, () => (remarks(document.uri).some((diagnostic) => codeOf(diagnostic) === code) ? undefined : true));
}

const script = `#!/bin/bash
# A run of our own.
GPT_ARGS=(
    --num-layers 24   # keep
    --hidden-size 1024
    --num-attention-heads 16
    --seq-length 2048
)
torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py \${GPT_ARGS[@]} \\
    --tensor-model-parallel-size 3 \\
    --micro-batch-size 1 --global-batch-size 64 --bf16
`;

const nemo = `trainer:
  num_nodes: 1
  devices: 8
  precision: bf16
model:
  # sizes
  num_layers: 24
  hidden_size: 1024
  num_attention_heads: 16
  encoder_seq_length: 2048
  max_position_embeddings: \${.encoder_seq_length}
  tensor_model_parallel_size: 1
  pipeline_model_parallel_size: 1
  micro_batch_size: 1
  global_batch_size: 13 # odd
  sequence_parallel: false
`;

const deepspeed = `{
  "train_batch_size": 256,
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 16,
  "zero_optimization": { "stage": 2 },
  "fp16": { "enabled": true },
  "bf16": { "enabled": true }
}
`;

describe('launchers in the editor', () => {
  before(() => vscode.workspace.fs.createDirectory(vscode.Uri.joinPath(folder, 'launchers')));
  afterEach(() => vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor'));

  it('fixes a shell script and leaves the rest of it unchanged', async () => {
    const document = await open('train.sh', script);
    await applyFix(document, 'heads-tp');
    const text = document.getText();
    assert.match(text, /--tensor-model-parallel-size (2|4) \\\n/);
    assert.equal(text.replace(/(--tensor-model-parallel-size) \d/, '$1 3'), script);
  });

  it('fixes a NeMo YAML and keeps its comments', async () => {
    const document = await open('pretrain.yaml', nemo);
    await applyFix(document, 'gbs-not-divisible');
    const text = document.getText();
    assert.match(text, /global_batch_size: (8|16) # odd/);
    assert.equal(text.replace(/(global_batch_size:) \d+/, '$1 13'), nemo);
  });

  it('fixes a DeepSpeed JSON', async () => {
    const document = await open('ds_config.json', deepspeed);
    await applyFix(document, 'deepspeed-two-precisions');
    const { fp16, bf16 } = JSON.parse(document.getText()) as { fp16?: { enabled?: boolean }; bf16?: { enabled?: boolean } };
    assert.notEqual(fp16?.enabled === true, bf16?.enabled === true);
  });

  it('explains values of a script on hover and shows the totals of its run with its lens', async () => {
    const document = await open('hover.sh', script.replace('size 3', 'size 2'));
    await until('lens with the totals', async () => {
      const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', document.uri, 10);
      return lenses.find(({ command }) => /; 16 GPUs: .*, \d+ micro-batches; /.test(command?.tooltip ?? ''));
    });
    const position = document.positionAt(document.getText().indexOf('size 2') + 5);
    const hovers = await vscode.commands.executeCommand<vscode.Hover[]>('vscode.executeHoverProvider', document.uri, position);
    const text = hovers
      .flatMap(({ contents }) => contents.map((content) => (content instanceof vscode.MarkdownString ? content.value : '')))
      .join('\n');
    assert.match(text, /tensor-model-parallel-size|tensor/i);
  });

  it('makes a terapipe.json of a script', async () => {
    const document = await open('make.sh', script.replace('size 3', 'size 2'));
    await until('lens', async () => {
      const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', document.uri, 10);
      return lenses.some(({ command }) => command?.command.startsWith('terapipe.') === true) ? true : undefined;
    });
    const made = await vscode.commands.executeCommand<vscode.Uri>('terapipe.createConfig', document.uri);
    const text = Buffer.from(await vscode.workspace.fs.readFile(made)).toString();
    assert.match(text, /"tensor": 2/);
    assert.match(text, /"layers": 24/);
    await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
  });

  it('has nothing on files that are none of ours', async () => {
    for (const [name, text] of [
      ['backup.sh', '#!/bin/sh\ntar czf backup.tgz "$HOME"\n'],
      ['compose.yaml', 'services:\n  web:\n    image: nginx\n'],
      ['settings.json', '{ "config": { "layers": 3 } }\n'],
    ] as const) {
      const document = await open(name, text);
      await new Promise((resolve) => setTimeout(resolve, 600));
      assert.deepEqual(remarks(document.uri), [], name);
      const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', document.uri, 10);
      assert.deepEqual(
        lenses.filter(({ command }) => command?.command.startsWith('terapipe.') === true),
        [],
        name,
      );
    }
  });
});
