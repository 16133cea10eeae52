import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { smallConfig } from '../small-config';

const folder = vscode.Uri.joinPath(vscode.workspace.workspaceFolders![0]!.uri, 'calibrate');

async function write(name: string, text: string): Promise<vscode.Uri> {
  const uri = vscode.Uri.joinPath(folder, name);
  await vscode.workspace.fs.writeFile(uri, Buffer.from(text));
  return uri;
}

/** Megatron-LM's lines of the run of `smallConfig`: 8 stages of a replica. */
function log(tensor: number): string {
  const lines = [85, 86, 87, 88].map(
    (iteration) => ` iteration ${iteration}/ 100 | elapsed time per iteration (ms): ${3000 + iteration} | global batch size: 32 |`,
  );
  return `using world size: 8, data-parallel size: 1, context-parallel size: 1, tensor-model-parallel size: ${tensor}, pipeline-model-parallel size: ${8 / tensor}\n${lines.join('\n')}\n`;
}

async function calibrated(name: string, text: string): Promise<string> {
  const config = await write(`${name}.terapipe.json`, smallConfig);
  await vscode.commands.executeCommand('terapipe.calibrate', config, await write(`${name}.log`, text));
  return (await vscode.workspace.openTextDocument(config)).getText();
}

describe('calibrating to a log', () => {
  before(() => vscode.workspace.fs.createDirectory(folder));
  afterEach(() => vscode.commands.executeCommand('workbench.action.closeAllEditors'));

  it('writes the steady step of the log of the run', async () => {
    assert.match(await calibrated('same', log(1)), /"calibration": \{ "iterationMs": 3086 \}/);
  });

  it('writes nothing for the log of another run', async () => {
    assert.equal(await calibrated('other', log(2)), smallConfig);
  });
});
