import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { until } from '../until';
import { timelineTabs } from './timeline-tabs';

const folder = vscode.Uri.joinPath(vscode.workspace.workspaceFolders![0]!.uri, 'schedules');
const sound = '0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n';

const remarks = (uri: vscode.Uri) => vscode.languages.getDiagnostics(uri).filter(({ source }) => source === 'terapipe');

const lensesOf = (uri: vscode.Uri) => vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri, 10);

async function open(name: string, text: string): Promise<vscode.TextDocument> {
  const uri = vscode.Uri.joinPath(folder, name);
  await vscode.workspace.fs.writeFile(uri, Buffer.from(text));
  await vscode.commands.executeCommand('vscode.open', uri, { preview: false });
  return until(`open editor of ${name}`, () =>
    vscode.window.visibleTextEditors.map(({ document }) => document).find(({ uri: { path } }) => path === uri.path),
  );
}

describe('schedule files in the editor', () => {
  before(() => vscode.workspace.fs.createDirectory(folder));
  afterEach(() => vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor'));

  it('are known by their first line, show their steps in a lens and open their timeline', async () => {
    const { uri, languageId } = await open('mine.csv', sound);
    assert.equal(languageId, 'pytorch-schedule');
    const lenses = await until('lenses', async () => {
      const found = await lensesOf(uri);
      return found.some(({ command }) => /bubble .*\d %$/.test(command?.title ?? '')) ? found : undefined;
    });
    assert.deepEqual(
      lenses.map(({ command }) => command?.title),
      ['2 ranks, 2 micro-batches, 9 steps · bubble 33.3 %', 'Open timeline'],
    );
    assert.deepEqual(remarks(uri), []);
    const { command } = lenses[1]!;
    await vscode.commands.executeCommand(command!.command, ...(command!.arguments as unknown[]));
    const [tab] = await until('timeline', () =>
      timelineTabs().some(({ label }) => label.includes('mine.csv')) ? timelineTabs() : undefined,
    );
    assert.ok(tab);
    await vscode.window.tabGroups.close(timelineTabs());
  });

  it('explain a cell on hover', async () => {
    const document = await open('hover.csv', sound);
    const position = document.positionAt(document.getText().indexOf('0B0') + 1);
    const text = await until('hover', async () => {
      const hovers = await vscode.commands.executeCommand<vscode.Hover[]>('vscode.executeHoverProvider', document.uri, position);
      return (
        hovers
          .flatMap(({ contents }) => contents.map((content) => (content instanceof vscode.MarkdownString ? content.value : '')))
          .join('\n') || undefined
      );
    });
    assert.match(
      text.replaceAll('\\', ''),
      /Rank 0 runs the backward of stage 0, micro-batch 0\s+Starts .* waited for the gradient from rank 1/s,
    );
  });

  it('have their mistakes marked at the cells, until they are fixed', async () => {
    const document = await open('bad.csv', sound.replace('1B0', '1X0'));
    const [found] = await until('diagnostic', () => (remarks(document.uri).length > 0 ? remarks(document.uri) : undefined));
    assert.equal(document.getText(found!.range), '1X0');
    assert.equal(typeof found!.code === 'object' ? found!.code.value : found!.code, 'schedule-csv-action');
    const edit = new vscode.WorkspaceEdit();
    edit.replace(document.uri, found!.range, '1B0');
    assert.ok(await vscode.workspace.applyEdit(edit));
    await until('the schedule without mistakes', () => (remarks(document.uri).length === 0 ? true : undefined));
  });

  it('are distinguished from other tables', async () => {
    const { uri } = await open('teams.csv', '1B,2B,3B,HR\n12,3,0,7\n');
    await new Promise((resolve) => setTimeout(resolve, 600));
    assert.deepEqual(remarks(uri), []);
    assert.deepEqual((await lensesOf(uri)).filter(({ command }) => command?.command.startsWith('terapipe.') === true), []); // prettier-ignore
  });
});
