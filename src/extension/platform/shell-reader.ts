import * as vscode from 'vscode';
import type { LauncherReader } from '../../core/run/facts';

/** The reader of shell scripts, loaded, code and all, when the first one is met: its grammar is a megabyte of WebAssembly. */
export function shellReader(extensionUri: vscode.Uri): () => Promise<LauncherReader> {
  let reader: Promise<LauncherReader> | undefined;
  const bytes = (name: string): Thenable<Uint8Array> => vscode.workspace.fs.readFile(vscode.Uri.joinPath(extensionUri, 'dist', name));
  const load = async (): Promise<LauncherReader> => {
    const [runtime, bash, { createShellReader }, { loadShellParser }] = await Promise.all([
      bytes('web-tree-sitter.wasm'),
      bytes('tree-sitter-bash.wasm'),
      import('../../core/launchers/shell/read-shell'),
      import('../../core/languages/shell/parser'),
    ]);
    return createShellReader(await loadShellParser({ runtime, bash }));
  };
  return () => (reader ??= load());
}
