import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { until } from '../until';

const folder = vscode.Uri.joinPath(vscode.workspace.workspaceFolders![0]!.uri, 'slices');
const flags =
  '--num-layers 16 --hidden-size 2048 --num-attention-heads 16 --seq-length 16384 --max-position-embeddings 16384 --use-flash-attn --bf16 ' +
  '--tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 --micro-batch-size 1 --global-batch-size 4 --pipe-sp-splits 16';
async function write(name: string, text: string): Promise<vscode.Uri> {
  const uri = vscode.Uri.joinPath(folder, name);
  await vscode.workspace.fs.writeFile(uri, Buffer.from(text));
  return uri;
}

describe('slices of a launch script', () => {
  let script: vscode.Uri;

  before(async () => {
    await vscode.workspace.fs.createDirectory(folder);
    script = await write('train.sh', `torchrun --nproc_per_node 8 pretrain_gpt.py ${flags}\n`);
  });
  beforeEach(() => vscode.commands.executeCommand('vscode.open', script, { preview: false }));
  afterEach(() => vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor'));
  after(async () => {
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    await vscode.workspace.fs.delete(folder, { recursive: true });
  });

  it('that take longer than others get a finding, with a quick fix of the flags', async () => {
    const finding = await until('the finding', () =>
      vscode.languages.getDiagnostics(script).find(({ code }) => typeof code === 'object' && code.value === 'slices-slower'),
    );
    assert.equal(finding.severity, vscode.DiagnosticSeverity.Information);
    const fix = await until('the quick fix', async () => {
      const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>('vscode.executeCodeActionProvider', script, finding.range);
      return actions.find(({ title }) => title.startsWith('Cut sequences into'));
    });
    await vscode.workspace.applyEdit(fix.edit!);
    const text = (await vscode.workspace.openTextDocument(script)).getText();
    assert.match(text, /--pipe-sp-strategy uniform_comp/);
    assert.doesNotMatch(text, /--pipe-sp-splits 16/);
  });

  const shown = (what: string, accepts: (document: vscode.TextDocument) => boolean): Promise<vscode.TextDocument> =>
    until(what, () => vscode.workspace.textDocuments.find((document) => document.isUntitled && accepts(document)));

  it('are written as a script for the runtime that is named', async () => {
    // The message about the file stays until it is dismissed, and the command with it.
    void vscode.commands.executeCommand('terapipe.exportLayout', script, 'seq1f1b');
    const { languageId } = await shown('the script', (document) => document.getText().includes('--pipe-sp-splits'));
    assert.equal(languageId, 'shellscript');
  });

  it('are shown as a difference of the function that cuts sequences, which stays as it is', async () => {
    const source =
      'def get_splits():\n    args = get_args()\n    if args.pipe_sp_strategy == "average":\n        return [args.seq_length // args.pipe_sp_splits]\n';
    const uri = await write('sp_utils.py', source);
    void vscode.commands.executeCommand('terapipe.exportLayout', script, 'patch');
    const diff = await shown('the difference', ({ languageId }) => languageId === 'diff');
    assert.match(diff.getText(), /^\+.*\d+, \d+/m);
    assert.equal(Buffer.from(await vscode.workspace.fs.readFile(uri)).toString(), source);
  });
});
