import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { smallConfig } from '../small-config';
import { until } from '../until';
import { timelineTabs } from './timeline-tabs';

/** One file, `remote:/slow.terapipe.json`, whose text comes when it is let through. */
class SlowFiles implements vscode.FileSystemProvider {
  readonly uri = vscode.Uri.parse('remote:/slow.terapipe.json');
  readonly onDidChangeFile = new vscode.EventEmitter<vscode.FileChangeEvent[]>().event;
  private letThrough: () => void = () => undefined;
  private readonly through = new Promise<void>((resolve) => (this.letThrough = resolve));

  readonly arrive = (): void => this.letThrough();

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    if (uri.path !== this.uri.path) throw vscode.FileSystemError.FileNotFound(uri);
    return { type: vscode.FileType.File, ctime: 0, mtime: 0, size: Buffer.byteLength(smallConfig) };
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    this.stat(uri);
    await this.through;
    return Buffer.from(smallConfig);
  }

  readonly readDirectory = () => [];
  readonly createDirectory = () => undefined;
  readonly writeFile = () => undefined;
  readonly delete = () => undefined;
  readonly rename = () => undefined;
}

describe('a command from the palette', () => {
  it('is for the file in front, even while its text is still being loaded', async () => {
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    const before = vscode.Uri.joinPath(vscode.workspace.workspaceFolders![0]!.uri, 'commands', 'before.terapipe.json');
    await vscode.workspace.fs.writeFile(before, Buffer.from(smallConfig));
    await vscode.commands.executeCommand('terapipe.openTimeline', before.toString());
    await until('timeline of the file before', () => timelineTabs().some(({ label }) => label.includes('before')) || undefined);
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');

    const files = new SlowFiles();
    const provider = vscode.workspace.registerFileSystemProvider(files.uri.scheme, files);
    try {
      const opened = vscode.commands.executeCommand('vscode.open', files.uri, { preview: false });
      await until('tab of the slow file', () => {
        const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
        return (input instanceof vscode.TabInputText && input.uri.path === files.uri.path) || undefined;
      });
      assert.equal(vscode.window.activeTextEditor, undefined, 'the text has already arrived');
      const ran = vscode.commands.executeCommand('terapipe.openTimeline');
      files.arrive();
      await ran;
      await opened;
      const label = await until('a timeline', () => timelineTabs().find(({ label }) => label !== 'Timeline')?.label);
      assert.equal(label, 'Timeline of slow');
    } finally {
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      provider.dispose();
    }
  });
});
