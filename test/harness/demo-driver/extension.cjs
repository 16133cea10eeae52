// @ts-check
/* global setTimeout */
const vscode = require('vscode');

const run = vscode.commands.executeCommand;

/** The sample's file on the left, its timeline on the right, the plan in the side panel; the cursor is in the file. */
exports.activate = async function activate(/** @type {vscode.ExtensionContext} */ { extensionUri }) {
  const [file] = await vscode.workspace.findFiles('terapipe.json', null, 1);
  if (file === undefined) return;
  await run('vscode.setEditorLayout', { orientation: 0, groups: [{ size: 0.36 }, { size: 0.64 }] });
  await vscode.window.showTextDocument(file, { viewColumn: vscode.ViewColumn.One, preview: false });
  await firstWebview(extensionUri);
  await run('workbench.view.extension.terapipe');
  await run('workbench.action.focusSecondEditorGroup');
  await run('terapipe.openTimeline', file);
  await run('workbench.action.focusFirstEditorGroup');
};

/**
 * Shows one webview until it has loaded a file, so that VS Code's service worker runs before two webviews want it at once: in a browser that
 * opens its first two together, requests of one of them now and then go unanswered, and it stays blank.
 * @param {vscode.Uri} folder
 */
async function firstWebview(folder) {
  const options = { enableScripts: true, localResourceRoots: [folder] };
  const panel = vscode.window.createWebviewPanel(
    'terapipe.demo',
    'Starting',
    { viewColumn: vscode.ViewColumn.Two, preserveFocus: true },
    options,
  );
  const script = panel.webview.asWebviewUri(vscode.Uri.joinPath(folder, 'ready.js')).toString();
  await new Promise((resolve) => {
    panel.webview.onDidReceiveMessage(resolve);
    setTimeout(resolve, 10_000);
    panel.webview.html = `<!DOCTYPE html>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src ${panel.webview.cspSource}" />
<script src="${script}"></script>`;
  });
  panel.dispose();
}
