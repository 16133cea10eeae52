import { ExpectedError, errorMessage } from '../../errors';
import type { LauncherReader } from '../../run/facts';
import { sentence } from '../../sentence';
import { printable } from '../../text';

/**
 * Loads the reader of shell scripts, code and grammar, at the first call, and keeps it: the grammar is a megabyte of WebAssembly. After
 * a failure the next call loads again.
 * @throws (rejects) ExpectedError `installation-damaged`.
 * @param bytes the content of a file next to the program's code, by its name.
 */
export function shellReaderFrom(bytes: (name: string) => PromiseLike<Uint8Array>): () => Promise<LauncherReader> {
  let reader: Promise<LauncherReader> | undefined;
  const load = async (): Promise<LauncherReader> => {
    const [runtime, bash, { createShellReader }, { loadShellParser }] = await Promise.all([
      bytes('web-tree-sitter.wasm'),
      bytes('tree-sitter-bash.wasm'),
      import('./read-shell'),
      import('../../languages/shell/parser'),
    ]);
    return createShellReader(await loadShellParser({ runtime, bash }));
  };
  return () =>
    (reader ??= load().catch((error: unknown) => {
      reader = undefined;
      throw new ExpectedError(
        'installation-damaged',
        sentence`This installation is damaged: the reader of shell scripts does not load (${printable(errorMessage(error))})`,
        sentence`reinstall TeraPipe`,
      );
    }));
}
