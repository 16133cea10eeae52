import { mkdir, readFile, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { notWritten } from './system-reason';
import { writeWhole } from './write-whole';

/** Texts of files by their path in a folder, with `/`. */
type TextFiles = ReadonlyMap<string, string>;

/** Files of a folder, and of folders in it, whose names match. @throws the system's error. */
export async function readFolder(folder: string, names: RegExp): Promise<TextFiles> {
  const entries = await readdir(folder, { recursive: true });
  const files = entries.map((entry) => entry.replaceAll(path.sep, '/')).filter((name) => names.test(name));
  const read = async (name: string): Promise<[string, string]> => [name, await readFile(path.join(folder, name), 'utf8')];
  return new Map(await Promise.all(files.sort().map(read)));
}

/** Names of the files that exist in a folder already. */
export async function existingFiles(folder: string, files: TextFiles): Promise<string[]> {
  const exists = async (name: string): Promise<boolean> => (await stat(path.join(folder, name)).catch(() => null)) !== null;
  const names = [...files.keys()];
  const found = await Promise.all(names.map(exists));
  return names.filter((_, index) => found[index]);
}

/**
 * Writes files into a folder, which is made where there is none; each as `writeWhole`, and as a program where it begins with `#!`. Other
 * files of the folder stay.
 * @throws ExpectedError `export-not-saved`.
 */
export async function writeFolder(folder: string, files: TextFiles, replace: boolean): Promise<void> {
  for (const [name, text] of files) {
    const file = path.join(folder, name);
    try {
      await mkdir(path.dirname(file), { recursive: true });
      await writeWhole(file, text, { replace, ...(text.startsWith('#!') ? { mode: 0o777 } : {}) });
    } catch (error) {
      throw notWritten('export-not-saved', file, error);
    }
  }
}
