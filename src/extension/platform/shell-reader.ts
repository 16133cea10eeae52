import * as vscode from 'vscode';
import type { LauncherReader } from '../../core/formats/facts';
import { createShellReader } from '../../core/formats/shell/read-shell';
import { loadShellParser } from '../../core/formats/shell/shell-parser';

/** The reader of shell scripts, loaded when the first one is met: its grammar is a megabyte of WebAssembly. */
export function shellReader(extensionUri: vscode.Uri): () => Promise<LauncherReader> {
  let reader: Promise<LauncherReader> | undefined;
  const bytes = (name: string): Thenable<Uint8Array> => vscode.workspace.fs.readFile(vscode.Uri.joinPath(extensionUri, 'dist', name));
  const load = async (): Promise<LauncherReader> => {
    const [runtime, bash] = await Promise.all([bytes('web-tree-sitter.wasm'), bytes('tree-sitter-bash.wasm')]);
    return createShellReader(await loadShellParser({ runtime, bash }));
  };
  return () => (reader ??= load());
}
