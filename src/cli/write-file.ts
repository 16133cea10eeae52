import { mkdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { ExpectedError } from '../core/errors';
import { notWritten, systemCode } from '../files/system-reason';
import { existingFiles, writeFolder } from '../files/text-folder';
import { keptWritable, writeWhole } from '../files/write-whole';
import { counted, sentence } from '../core/sentence';

/** A text, its pieces in order, or bytes. */
type Content = string | Uint8Array | Iterable<string>;

/**
 * The file that `--out` names: a path, or in a folder the file of this name. A path that ends with a slash is a folder, which is made.
 * @throws ExpectedError `export-not-saved`.
 */
export async function outFile(out: string, name: string): Promise<string> {
  try {
    if (/[/\\]$/.test(out)) await mkdir(out, { recursive: true });
    else if (!(await stat(out)).isDirectory()) return out;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return out;
    throw notWritten('export-not-saved', out, error);
  }
  return path.join(out, name);
}

/** Whether a file that exists is replaced; otherwise it stays as it is: `--write` replaces it, or nothing does (`never`). */
type Replace = boolean | 'never';

/**
 * Writes a file, as `writeWhole`.
 * @throws ExpectedError `export-exists`, `export-not-saved`.
 */
export async function writeOut(file: string, content: Content, replace: Replace): Promise<void> {
  try {
    await writeWhole(file, content, { replace: replace === true });
  } catch (error) {
    throw outRefused(file, replace, error);
  }
}

/**
 * Does long `work` at the end of which `file` is written by `writeOut`, which would refuse it only then. Null: nothing is written.
 * @throws ExpectedError as `writeOut`, before the work begins.
 */
export async function beforeWriteOut<T>(file: string | null, replace: Replace, work: () => Promise<T>): Promise<T> {
  if (file === null) return work();
  const release = await keptWritable(file, { replace: replace === true }).catch((error: unknown) => {
    throw outRefused(file, replace, error);
  });
  return work().finally(release);
}

function outRefused(file: string, replace: Replace, error: unknown): unknown {
  if (replace === true || systemCode(error) !== 'EEXIST') return notWritten('export-not-saved', file, error);
  return new ExpectedError(
    'export-exists',
    sentence`${file} exists already`,
    replace === 'never' ? sentence`name another file` : sentence`name another file, or give --write to replace it`,
  );
}

/**
 * Writes the files of a folder, as `writeFolder`.
 * @param replace whether those that exist are replaced; otherwise nothing is written where there is one.
 * @throws ExpectedError `export-exists`, `export-not-saved`.
 */
export async function writeOutFolder(folder: string, files: ReadonlyMap<string, string>, replace: boolean): Promise<void> {
  const [first, ...more] = replace ? [] : await existingFiles(folder, files);
  if (first === undefined) return writeFolder(folder, files, replace);
  const others = more.length === 0 ? sentence`exists already` : sentence`and ${counted(more.length, 'more file')} exist already`;
  throw new ExpectedError(
    'export-exists',
    sentence`${path.join(folder, first)} ${others}`,
    sentence`name another folder, or give --write to replace them`,
  );
}

/**
 * Replaces the text of a file, as `writeWhole`; its byte order mark stays.
 * @param before the text that it must still have, without the mark.
 * @throws ExpectedError `export-changed`, `export-not-saved`.
 */
export async function editFile(file: string, before: string, text: string): Promise<void> {
  const unchanged = async (): Promise<Buffer> => {
    const bytes = await readFile(file);
    if (withoutMark(bytes).toString('utf8') === before) return bytes;
    throw new ExpectedError('export-changed', sentence`${file} changed while the plan was made`, sentence`run it again`);
  };
  try {
    const old = await unchanged();
    const mark = old.subarray(0, old.length - withoutMark(old).length);
    const bytes = Buffer.concat([mark, Buffer.from(text, 'utf8')]);
    await writeWhole(file, bytes, { replace: true, beforeReplacing: unchanged });
  } catch (error) {
    throw notWritten('export-not-saved', file, error);
  }
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

function withoutMark(bytes: Buffer): Buffer {
  return bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? bytes.subarray(byteOrderMark.length) : bytes;
}
