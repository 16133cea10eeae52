import type { LauncherReader } from '../../run/facts';

/**
 * The reader of shell scripts, loaded, code and all, when it is first called for: its grammar is a megabyte of WebAssembly.
 * @param bytes of a file of the product by its name
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
  return () => (reader ??= load());
}
