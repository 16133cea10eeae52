import { randomBytes } from 'node:crypto';
import { open, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { ExpectedError } from '../core/errors';

/**
 * Writes a new file; one that is there stays as it is.
 * @throws ExpectedError `export-exists`, `export-not-saved`.
 */
export async function writeNewFile(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: 'wx' });
  } catch (error) {
    if (codeOf(error) === 'EEXIST')
      throw new ExpectedError('export-exists', `${file} is there already`, 'name another file, or give --write to replace it');
    throw notSaved(file, error);
  }
}

/**
 * Replaces a file so that readers see the old text or the new one, never half of it; its permissions, a byte order mark and links to it stay.
 * @param before what it must still hold; null: anything, or nothing.
 * @throws ExpectedError `export-changed`, `export-not-saved`.
 */
export async function replaceFile(file: string, before: string | null, text: string): Promise<void> {
  try {
    const target = await realpath(file).catch(() => file);
    const old = await readFile(target).catch((error: unknown) =>
      codeOf(error) === 'ENOENT' && before === null ? null : Promise.reject(asError(error)),
    );
    const mark = old?.subarray(0, 3).equals(byteOrderMark) === true ? byteOrderMark : Buffer.alloc(0);
    if (before !== null && old?.subarray(mark.length).toString('utf8') !== before)
      throw new ExpectedError('export-changed', `${file} changed while the plan was made`, 'run it again');
    const mode = old === null ? 0o666 : (await stat(target)).mode;
    const beside = `${target}.${randomBytes(4).toString('hex')}.tmp`;
    try {
      const handle = await open(beside, 'wx', mode);
      try {
        await handle.writeFile(Buffer.concat([mark, Buffer.from(text, 'utf8')]));
        if (old !== null) await handle.chmod(mode);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(beside, target);
    } catch (error) {
      await rm(beside, { force: true }).catch(() => undefined);
      throw error;
    }
  } catch (error) {
    throw notSaved(file, error);
  }
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

function notSaved(file: string, error: unknown): unknown {
  const code = codeOf(error);
  if (error instanceof ExpectedError || code === null) return error;
  return new ExpectedError(
    'export-not-saved',
    `${file} could not be written (${code})`,
    'check its folder and permissions, or name another file',
  );
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error ? String(error.code) : null;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
