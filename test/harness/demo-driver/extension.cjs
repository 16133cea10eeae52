// @ts-check
const vscode = require('vscode');

const run = vscode.commands.executeCommand;

/** The sample's file on the left, its timeline beside it, the plan in the side panel; the cursor is in the file. */
exports.activate = async function activate() {
  const [file] = await vscode.workspace.findFiles('terapipe.json', null, 1);
  if (file === undefined) return;
  await run('vscode.setEditorLayout', { orientation: 0, groups: [{ size: 0.36 }, { size: 0.64 }] });
  await vscode.window.showTextDocument(file, { viewColumn: vscode.ViewColumn.One, preview: false });
  await run('workbench.view.extension.terapipe');
  await run('workbench.action.focusSecondEditorGroup');
  await run('terapipe.openTimeline', file);
  await run('workbench.action.focusFirstEditorGroup');
};
