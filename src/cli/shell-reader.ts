import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { LauncherReader } from '../core/run/facts';
import { createShellReader } from '../core/launchers/shell/read-shell';
import { loadShellParser } from '../core/languages/shell/parser';

/** The reader of shell scripts, loaded when it is first asked for: its grammar is a megabyte of WebAssembly in `folder`. */
export function shellReaderIn(folder: string): () => Promise<LauncherReader> {
  let reader: Promise<LauncherReader> | undefined;
  const load = async (): Promise<LauncherReader> => {
    const [runtime, bash] = await Promise.all(
      ['web-tree-sitter.wasm', 'tree-sitter-bash.wasm'].map((name) => readFile(path.join(folder, name))),
    );
    if (runtime === undefined || bash === undefined) throw new Error('the grammar of shell scripts is not there');
    return createShellReader(await loadShellParser({ runtime, bash }));
  };
  return () => (reader ??= load());
}
