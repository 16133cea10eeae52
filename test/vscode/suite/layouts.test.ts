import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { until } from '../until';
import { wideScript as script } from '../wide-script';

const folder = vscode.Uri.joinPath(vscode.workspace.workspaceFolders![0]!.uri, 'layouts');

async function open(name: string): Promise<vscode.TextDocument> {
  const uri = vscode.Uri.joinPath(folder, name);
  await vscode.workspace.fs.writeFile(uri, Buffer.from(script));
  await vscode.commands.executeCommand('vscode.open', uri, { preview: false });
  return until(
    `open editor of ${name}`,
    () => vscode.window.visibleTextEditors.find(({ document }) => document.uri.path === uri.path)?.document,
  );
}

async function lensWith(uri: vscode.Uri, title: RegExp): Promise<vscode.CodeLens> {
  return until(`lens ${String(title)}`, async () => {
    const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri, 20);
    return lenses.find(({ command }) => command !== undefined && title.test(command.title));
  });
}

const remarks = (uri: vscode.Uri) =>
  vscode.languages
    .getDiagnostics(uri)
    .filter(({ source, code }) => source === 'terapipe' && typeof code === 'object' && String(code.value).startsWith('layout-'));

async function slower(document: vscode.TextDocument): Promise<vscode.Diagnostic> {
  return until('remark on the layout', () => remarks(document.uri)[0]);
}

function diffShown(): vscode.TabInputTextDiff | undefined {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  return input instanceof vscode.TabInputTextDiff ? input : undefined;
}

async function showDiff(document: vscode.TextDocument, diagnostic: vscode.Diagnostic): Promise<vscode.TabInputTextDiff> {
  const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
    'vscode.executeCodeActionProvider',
    document.uri,
    diagnostic.range,
  );
  const fix = actions.find(({ title }) => title === 'Apply the best layout…');
  assert.ok(fix?.command !== undefined, `no fix among ${actions.map(({ title }) => title).join(', ')}`);
  await vscode.commands.executeCommand(fix.command.command, ...((fix.command.arguments ?? []) as unknown[]));
  return until('diff', diffShown);
}

describe('layouts of a launcher', () => {
  before(() => vscode.workspace.fs.createDirectory(folder));
  afterEach(async () => {
    await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
  });

  it('are searched by themselves, marked, and the best is applied as a diff that undo takes back', async () => {
    const document = await open('apply.sh');
    const lens = await lensWith(document.uri, /^Show best layout$/);
    assert.equal(lens.command?.command, 'terapipe.openLayout');
    assert.match(lens.command.tooltip ?? '', /^As launched [\d.]+ m?s, best [\d.]+ m?s, [\d.]+(?: % faster|x as fast)$/);
    const found = await slower(document);
    assert.equal(document.getText(found.range), '16');
    assert.match(found.message, /crosses nodes of 8 GPUs: [\d.]+x slower than TP\d/);

    const diff = await showDiff(document, found);
    assert.equal(diff.original.toString(), document.uri.toString());
    assert.equal(document.getText(), script, 'changed before anybody accepted it');
    const proposed = (await vscode.workspace.openTextDocument(diff.modified)).getText();
    assert.match(proposed, /# too wide/);
    assert.notEqual(proposed, script);

    await vscode.commands.executeCommand('terapipe.acceptLayout', diff.modified);
    assert.equal(document.getText(), proposed);
    assert.ok(document.isDirty, 'the disk was touched');
    assert.equal(diffShown(), undefined);
    await lensWith(document.uri, / · best layout$/);
    await until('no remark', () => (remarks(document.uri).length === 0 ? true : undefined));

    await vscode.commands.executeCommand('undo');
    assert.equal(document.getText(), script);
    await slower(document);
  });

  it('leave the file unchanged when the diff is discarded', async () => {
    const document = await open('discard.sh');
    const diff = await showDiff(document, await slower(document));
    await vscode.commands.executeCommand('terapipe.discardLayout', diff.modified);
    await until('closed diff', () => (diffShown() === undefined ? true : undefined));
    assert.equal(document.getText(), script);
    assert.equal(document.isDirty, false);
  });

  it('are not written into a file that changed under the diff', async () => {
    const document = await open('changed.sh');
    const diff = await showDiff(document, await slower(document));
    const edit = new vscode.WorkspaceEdit();
    edit.insert(document.uri, new vscode.Position(1, 0), '# another hand\n');
    await vscode.workspace.applyEdit(edit);
    await vscode.commands.executeCommand('terapipe.acceptLayout', diff.modified);
    assert.equal(document.getText(), script.replace('# A Llama', '# another hand\n# A Llama'));
    await vscode.commands.executeCommand('terapipe.discardLayout', diff.modified);
  });

  it('have the title of the layout that a diff shows, where another of the file was open', async () => {
    const document = await open('titles.sh');
    const titles = (): readonly string[] =>
      vscode.window.tabGroups.all.flatMap(({ tabs }) =>
        tabs.filter(({ input }) => input instanceof vscode.TabInputTextDiff).map(({ label }) => label),
      );
    await showDiff(document, await slower(document));
    const [first, ...others] = titles();
    assert.deepEqual(others, []);
    const edit = new vscode.WorkspaceEdit();
    const at = document.positionAt(script.indexOf('NUM_NODES=2') + 10);
    edit.replace(document.uri, new vscode.Range(at, at.translate(0, 1)), '4');
    await vscode.workspace.applyEdit(edit);
    await lensWith(document.uri, / · earlier best /);
    await lensWith(document.uri, / · best [\d.]+ m?s$/);
    await showDiff(document, await slower(document));
    await until('another title', () => (titles().length === 1 && titles()[0] !== first ? true : undefined));
  });

  it('are marked as older than an edit until they are searched again', async () => {
    const document = await open('stale.sh');
    await lensWith(document.uri, / · best [\d.]+ m?s$/);
    const edit = new vscode.WorkspaceEdit();
    const at = document.positionAt(script.indexOf('size 128') + 5);
    edit.replace(document.uri, new vscode.Range(at, at.translate(0, 3)), '256');
    await vscode.workspace.applyEdit(edit);
    await lensWith(document.uri, / · earlier best /);
    await lensWith(document.uri, / · best [\d.]+ m?s$/);
  });

  it('stop when cancelled and keep what there was', async () => {
    const document = await open('cancel.sh');
    await lensWith(document.uri, / · best [\d.]+ m?s$/);
    const search = vscode.commands.executeCommand('terapipe.searchLayout', document.uri);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await vscode.commands.executeCommand('terapipe.cancelSearch', document.uri);
    await search;
    await lensWith(document.uri, / · best [\d.]+ m?s$/);
  });
});
