import { lstat, stat } from 'node:fs/promises';
import path, { type PlatformPath } from 'node:path';
import type { Readable } from 'node:stream';
import { configError, type ConfigErrorCode } from '../core/errors';
import { maximumConfigSize, fileStart } from '../core/languages/json/document';
import type { ReadReferenced } from '../core/run/run';
import { printable } from '../core/text';
import { readRegular } from '../files/read-regular';
import { sentence, type Sentence } from '../core/sentence';

/** What standard input is called in messages. */
export const standardInput = '<stdin>';

/** A text and the name it goes by: the path as the user would write it. */
export interface SourceText {
  readonly file: string;
  readonly text: string;
}

/**
 * Reads a file named on the command line, or standard input for `-`. UTF-8, at most 5 MB; regular files only, since a named pipe may keep
 * its reader waiting.
 * @throws ExpectedError `config-not-found`, `config-unreadable`, `config-too-large`, `config-binary`, at the start of the file.
 */
export async function readNamedFile(name: string): Promise<SourceText> {
  if (name === '-') return { file: standardInput, text: decoded(standardInput, await limited(standardInput, process.stdin)) };
  return readRegularFile(name);
}

/** Reads files that a config names, as `readNamedFile`, relative to the config's folder (standard input: the current one). */
export const readReferenced: ReadReferenced = async (from, name) => {
  const file = referencedPath(from, name);
  if (file === null)
    throw configError(
      'config-not-found',
      sentence`The path leads to another machine`,
      sentence`name a file on this machine`,
      fileStart(from),
    );
  return readRegularFile(file);
};

/**
 * The path that `name` is in the file `from` (standard input: in the current folder). Null where it leads to another machine, as
 * `\\server\share` does on Windows: opening it would reveal the user to that machine.
 * @param system the rules of paths: those of this machine.
 */
export function referencedPath(from: string, name: string, system: PlatformPath = path): string | null {
  const folder = from === standardInput ? '.' : system.dirname(from);
  const file = system.isAbsolute(name) ? system.normalize(name) : system.join(folder, name);
  const driveRoot = (at: string): string => system.parse(system.resolve(at)).root.toLowerCase();
  return driveRoot(file).startsWith('\\\\') && driveRoot(file) !== driveRoot(folder) ? null : file;
}

/** Reads a file by its path, as `readNamedFile`; `-` is the file of that name, not standard input. */
export async function readRegularFile(file: string): Promise<SourceText> {
  try {
    const stored = await readRegular(file, maximumConfigSize);
    if (stored.kind === 'file') return { file, text: decoded(file, stored.bytes) };
    throw notRead(file, stored.kind);
  } catch (error) {
    throw systemFailure(file, error);
  }
}

function notRead(file: string, kind: 'folder' | 'device' | 'too large'): Error {
  switch (kind) {
    case 'folder':
      return failure('config-unreadable', file, sentence`is a folder`, sentence`name the config file in it`);
    case 'device':
      return failure('config-unreadable', file, sentence`is not a regular file`, sentence`name a regular file, or give - and pipe it in`);
    case 'too large':
      return tooLarge(file);
  }
}

/** Whether a path is a folder, a file (or something else that can be read), or nothing. Does not throw. */
export async function kindOfPath(name: string): Promise<'folder' | 'file' | 'nothing'> {
  try {
    return (await stat(name)).isDirectory() ? 'folder' : 'file';
  } catch {
    return (await exists(name)) ? 'file' : 'nothing';
  }
}

async function limited(file: string, stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Uint8Array);
    size += bytes.length;
    if (size > maximumConfigSize) throw tooLarge(file);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

function decoded(file: string, bytes: Uint8Array): string {
  const text = decodeText(bytes);
  if (text !== null) return text;
  throw failure('config-binary', file, sentence`is not UTF-8 text`, sentence`name a JSON config file`);
}

/** UTF-8 without its byte order mark; null where it is something else. */
export function decodeText(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function systemFailure(file: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  if (error.code === 'ERR_INVALID_ARG_VALUE')
    return failure('config-not-found', file, sentence`is not a file name: it has a NUL`, sentence`fix the path`);
  if (!('syscall' in error)) return error;
  switch (error.code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return failure('config-not-found', file, sentence`does not exist`, sentence`fix the path`);
    case 'EACCES':
    case 'EPERM':
      return failure('config-unreadable', file, sentence`may not be read`, sentence`check its permissions`);
    case 'ELOOP':
      return failure('config-unreadable', file, sentence`is a link that leads back to itself`, sentence`name the file itself`);
    default:
      return failure('config-unreadable', file, sentence`cannot be read (${String(error.code)})`, sentence`check the file`);
  }
}

async function exists(name: string): Promise<boolean> {
  try {
    await lstat(name);
    return true;
  } catch {
    return false;
  }
}

function tooLarge(file: string): Error {
  return failure('config-too-large', file, sentence`is over 5 MB, too large for a config`, sentence`name the config file itself`);
}

function failure(code: ConfigErrorCode, file: string, what: Sentence, remedy: Sentence): Error {
  const name = file === standardInput ? 'standard input' : printable(file);
  return configError(code, sentence`${name} ${what}`, remedy, fileStart(file));
}
