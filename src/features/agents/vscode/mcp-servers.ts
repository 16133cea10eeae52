import process from 'node:process';
import * as vscode from 'vscode';
import { offersMcpServer, onMcpServerSetting } from '../../../extension/platform/settings';

/** What VS Code has for MCP servers since 1.101; the oldest version that we run in has none of it. */
interface McpApi {
  readonly lm: {
    readonly registerMcpServerDefinitionProvider?: (
      id: string,
      provider: {
        readonly onDidChangeMcpServerDefinitions: vscode.Event<void>;
        readonly provideMcpServerDefinitions: () => readonly unknown[];
      },
    ) => vscode.Disposable;
  };
  readonly McpStdioServerDefinition?: new (
    label: string,
    command: string,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    version: string,
  ) => unknown;
}

/**
 * Offers `terapipe mcp` to VS Code, a server for each folder of a trusted workspace. Only with the setting
 * `terapipe.mcpServer`: agents of VS Code have the same tools already.
 */
export function registerMcpServers(context: vscode.ExtensionContext): vscode.Disposable {
  const { lm, McpStdioServerDefinition: Definition } = vscode as unknown as McpApi;
  if (lm.registerMcpServerDefinitionProvider === undefined || Definition === undefined) return vscode.Disposable.from();
  const { version } = context.extension.packageJSON as { readonly version: string };
  const changed = new vscode.EventEmitter<void>();
  const provider = lm.registerMcpServerDefinitionProvider('terapipe', {
    onDidChangeMcpServerDefinitions: changed.event,
    provideMcpServerDefinitions: () =>
      vscode.workspace.isTrusted && offersMcpServer()
        ? (vscode.workspace.workspaceFolders ?? [])
            .filter(({ uri }) => uri.scheme === 'file')
            .map(
              ({ name, uri }) =>
                new Definition(
                  `TeraPipe: ${name}`,
                  process.execPath,
                  [context.asAbsolutePath('dist/cli.js'), 'mcp', uri.fsPath],
                  { ELECTRON_RUN_AS_NODE: '1' },
                  version,
                ),
            )
        : [],
  });
  return vscode.Disposable.from(
    changed,
    provider,
    onMcpServerSetting(() => changed.fire()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => changed.fire()),
    vscode.workspace.onDidChangeWorkspaceFolders(() => changed.fire()),
  );
}
