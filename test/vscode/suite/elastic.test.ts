import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { until } from '../until';
import { timelineTabs } from './timeline-tabs';

const folder = vscode.workspace.workspaceFolders![0]!.uri;
const target = vscode.Uri.joinPath(folder, 'vit-elastic');
const run = vscode.Uri.joinPath(target, 'terapipe.json');

describe('a run that freezes layers', () => {
  before(async () => {
    const samples = vscode.Uri.file(process.env['TERAPIPE_TEST_SAMPLE']!);
    await vscode.workspace.fs.copy(vscode.Uri.joinPath(samples, '../vit-elastic'), target, { overwrite: true });
  });
  after(() => vscode.commands.executeCommand('workbench.action.closeAllEditors'));

  async function elasticLens(): Promise<vscode.CodeLens> {
    return until('an elastic lens', async () => {
      const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', run, 10);
      const titled = lenses.find(({ command }) => command?.title.startsWith('Elastic: ') === true);
      // Copying the sample counts as an edit, after which it is planned once more.
      return titled?.command?.title.includes('before the last edits') === true ? undefined : titled;
    });
  }

  it('has a lens with what it gains, and no error', async () => {
    await vscode.window.showTextDocument(run);
    assert.match((await elasticLens()).command?.title ?? '', /^Elastic: [\d.]+x over 10 epochs$/);
    assert.deepEqual(
      vscode.languages.getDiagnostics(run).filter(({ severity }) => severity === vscode.DiagnosticSeverity.Error),
      [],
    );
  });

  it('is begun from a model config by a command, as one edit, and opens its tab', async () => {
    const config = vscode.Uri.joinPath(folder, 'vit-begun', 'config.json');
    await vscode.workspace.fs.copy(vscode.Uri.joinPath(target, 'config.json'), config, { overwrite: true });
    await vscode.commands.executeCommand('terapipe.beginElastic', config, { dataset: 'cifar-100', epochs: 4 });
    const written = vscode.Uri.joinPath(folder, 'vit-begun', 'terapipe.json');
    const document = await vscode.workspace.openTextDocument(written);
    assert.match(document.getText(), /"elastic": \{\s*"dataset": "cifar-100",\s*"epochs": 4\s*\}/);
    await until('its lens', async () => {
      const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', written, 10);
      return lenses.find(({ command }) => /^Elastic: .* over 4 epochs$/.test(command?.title ?? ''));
    });
    await until('its tab', () => timelineTabs()[0]);
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
  });

  it('opens the Elastic tab from the lens', async () => {
    const { command } = await elasticLens();
    await vscode.commands.executeCommand(command!.command, ...(command!.arguments as unknown[]));
    await until('the tab', () => {
      const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
      return Promise.resolve(input instanceof vscode.TabInputWebview ? input : undefined);
    });
  });

  it('plans again after an edit, and shows what each key means', async () => {
    const editor = await vscode.window.showTextDocument(run, { viewColumn: vscode.ViewColumn.One });
    const text = editor.document.getText();
    const at = text.indexOf('"epochs": 10');
    await editor.edit((edit) =>
      edit.replace(new vscode.Range(editor.document.positionAt(at), editor.document.positionAt(at + 12)), '"epochs": 12'),
    );
    await until('the new plan', async () => (await elasticLens()).command?.title.endsWith('over 12 epochs') === true || undefined);
    const position = editor.document.positionAt(at + 2);
    const hovers = await until('a hover', async () => {
      const found = await vscode.commands.executeCommand<vscode.Hover[]>('vscode.executeHoverProvider', run, position);
      return found.length > 0 ? found : undefined;
    });
    const words = hovers
      .flatMap(({ contents }) =>
        contents.map((content) => (content instanceof vscode.MarkdownString ? content.value : JSON.stringify(content))),
      )
      .join('\n')
      .replaceAll('&nbsp;', ' ');
    assert.match(words, /Passes over the data set/);
  });
});
