import { append } from '../core/records';

/** A file with its path in the folder that was opened. */
export type NamedFile = readonly [path: string, file: File];

/** Folders that are never of interest and hold many files. */
const passedOver = /^(?:\.git|node_modules|__pycache__)$/;

/** Files that were dropped, with those in folders; at most `most`. Paths begin in a folder where only that was dropped. */
export async function droppedFiles({ items, files }: DataTransfer, most: number): Promise<readonly NamedFile[]> {
  // Entries are gone once this event is over.
  const entries = [...items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  if (entries.length === 0) return [...files].slice(0, most).map((file) => [file.name, file]);
  const [only] = entries;
  const isFolder = entries.length === 1 && only !== undefined && isDirectory(only);
  const found: NamedFile[] = [];
  const waiting = isFolder ? await listed(only) : entries;
  const start = isFolder ? only.fullPath.length + 1 : 1;
  for (let entry = waiting.shift(); entry !== undefined && found.length < most; entry = waiting.shift())
    if (isFile(entry)) found.push([entry.fullPath.slice(start), await fileIn(entry)]);
    else if (isDirectory(entry) && !passedOver.test(entry.name)) append(waiting, await listed(entry));
  return found;
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function isDirectory(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}

function fileIn(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

/** All entries of a folder: a browser gives a hundred at a time. */
async function listed(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return all;
    append(all, some);
  }
}
