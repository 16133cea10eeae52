import type { Metafile } from 'esbuild';

/** The files of a split bundle that come with some of its entries and what they import at once. */
export function loadedFiles({ outputs }: Metafile, entries: readonly string[]): readonly string[] {
  const found = new Set<string>();
  const follow = (file: string): void => {
    if (found.has(file)) return;
    found.add(file);
    for (const { path: next, kind } of outputs[file]?.imports ?? []) if (kind === 'import-statement') follow(next);
  };
  for (const [file, { entryPoint }] of Object.entries(outputs)) if (entries.includes(entryPoint ?? '')) follow(file);
  return [...found];
}
