import { randomBytes } from 'node:crypto';
import { unlinkSync, type Stats } from 'node:fs';
import * as nodeDisk from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { CancelledError } from '../core/errors';
import { systemCode } from './system-reason';

/** What is used of `node:fs/promises`; tests give one that fails. */
type Disk = Pick<
  typeof nodeDisk,
  'access' | 'constants' | 'link' | 'lstat' | 'open' | 'readdir' | 'readlink' | 'rename' | 'rm' | 'stat' | 'writeFile'
>;

interface WriteOptions {
  /** False: a file that exists stays as it is, and the write fails with EEXIST. */
  readonly replace: boolean;
  /** Permissions of a new file, before the umask; left out: nobody runs it. */
  readonly mode?: number;
  /** Called last, before the new file takes the old one's place; what it throws stops the write. */
  readonly beforeReplacing?: () => Promise<unknown>;
  readonly disk?: Disk;
}

/**
 * Writes a file so that readers see the old content or the new one, never half of it, whatever fails: to a temporary file in the same
 * folder, flushed, which then takes the name. Permissions (and the owner, where that is allowed) of an old file stay, links are followed,
 * and what a process that died left behind is removed. Devices, and pipes that
 * somebody reads, are written straight through.
 *
 * @param content text, or its pieces in order: what a large one is made of is never whole in memory.
 * @throws the system's error: ENOSPC, EACCES, EEXIST, ...; see `systemReason`. CancelledError after `abandonWrites`.
 */
export async function writeWhole(file: string, content: string | Uint8Array | Iterable<string>, options: WriteOptions): Promise<void> {
  const disk = options.disk ?? nodeDisk;
  const target = await followed(file, disk);
  const old = await targetStatus(target, disk);
  if (old !== null && !old.isFile() && !old.isDirectory()) {
    await writeThrough(target, content, disk);
    return;
  }
  await requireReplaceable(target, old, file, options, disk);
  const temporary = temporaryIn(path.dirname(target));
  const unregister = removedOnExit(temporary);
  try {
    const mode = old === null ? (options.mode ?? 0o666) : old.mode & 0o777;
    const madeMs = await fill(await disk.open(temporary, 'wx', mode), content, old, disk);
    await options.beforeReplacing?.();
    if (options.replace) await disk.rename(temporary, target);
    else await takeFreeName(temporary, target, disk);
    await flushFolder(path.dirname(target), disk);
    await removeLeftovers(path.dirname(target), madeMs, disk);
  } catch (error) {
    await disk.rm(temporary, { force: true }).catch(() => undefined);
    throw writing.has(temporary) ? error : new CancelledError();
  } finally {
    unregister();
  }
}

/**
 * Checks that `writeWhole` could write a file now, before time is spent on what it will hold; a pipe's reader is kept until it is released.
 * @returns what releases it. @throws the system's error, as `writeWhole`.
 */
export async function keptWritable(file: string, options: Pick<WriteOptions, 'replace'>): Promise<() => Promise<void>> {
  const target = await followed(file, nodeDisk);
  const old = await targetStatus(target, nodeDisk);
  if (old !== null && !old.isFile() && !old.isDirectory()) {
    const reached = await openThrough(target, nodeDisk);
    return () => reached.close();
  }
  await requireReplaceable(target, old, file, options, nodeDisk);
  await tryWriting(path.dirname(target));
  return () => Promise.resolve();
}

/** @throws EEXIST, EISDIR, EACCES where a file may not be replaced. */
async function requireReplaceable(
  target: string,
  old: Stats | null,
  file: string,
  { replace }: Pick<WriteOptions, 'replace'>,
  disk: Disk,
): Promise<void> {
  if (old !== null && !replace) throw systemError('EEXIST', file);
  if (old?.isDirectory() === true) throw systemError('EISDIR', file);
  if (old !== null) await disk.access(target, disk.constants.W_OK);
}

/** @throws ENXIO where nothing reads the pipe: to open it would wait for a reader. */
function openThrough(target: string, disk: Disk): Promise<nodeDisk.FileHandle> {
  const { O_WRONLY, O_NONBLOCK } = disk.constants;
  return disk.open(target, O_WRONLY | O_NONBLOCK);
}

async function writeThrough(target: string, content: string | Uint8Array | Iterable<string>, disk: Disk): Promise<void> {
  const reached = await openThrough(target, disk);
  try {
    await disk.writeFile(target, content);
  } finally {
    await reached.close();
  }
}

/**
 * Gives up what is being written just now, for a process that is about to end: temporary files go at once, and their writers reject with a
 * CancelledError unless the new file has its name already.
 */
export function abandonWrites(): void {
  for (const file of writing) {
    try {
      unlinkSync(file);
    } catch {
      // It was not made yet, or has its name already.
    }
  }
  writing.clear();
}

/**
 * Whether a folder takes a file of a few kilobytes now: tried, and removed again.
 * @throws the system's error, as `writeWhole`.
 */
export async function tryWriting(folder: string, disk: Disk = nodeDisk): Promise<void> {
  const trial = temporaryIn(folder);
  const unregister = removedOnExit(trial);
  try {
    await disk.writeFile(trial, ' '.repeat(4096), { flag: 'wx', flush: true });
  } finally {
    await disk.rm(trial, { force: true }).catch(() => undefined);
    unregister();
  }
}

const prefix = '.terapipe-';
const ending = '.tmp';
const temporaryName = /^\.terapipe-[0-9a-f]{16}\.tmp$/;
/** A temporary file that nobody wrote to for this long is nobody's: the pieces of one that is being written come in milliseconds. */
const abandonedMs = 600_000;
/** As many as the system follows itself. */
const maximumLinks = 40;

function temporaryIn(folder: string): string {
  return path.join(folder, `${prefix}${randomBytes(8).toString('hex')}${ending}`);
}

/**
 * Writes and flushes the temporary file, with the permissions of the old one. @returns the moment it was written, by the clock of its disk.
 */
async function fill(
  handle: nodeDisk.FileHandle,
  content: string | Uint8Array | Iterable<string>,
  old: Stats | null,
  disk: Disk,
): Promise<number> {
  try {
    await disk.writeFile(handle, content);
    if (old !== null) {
      // Only root may give files away; changing the owner clears bits of the mode, so it comes first.
      await handle.chown(old.uid, old.gid).catch(() => undefined);
      await handle.chmod(old.mode & 0o7777);
    }
    await handle.sync();
    return (await handle.stat()).mtimeMs;
  } finally {
    await handle.close();
  }
}

/** Gives the temporary file a name that nobody has: by a link, which cannot replace; where the disk knows none, after a look. */
async function takeFreeName(temporary: string, target: string, disk: Disk): Promise<void> {
  try {
    await disk.link(temporary, target);
  } catch (error) {
    if (systemCode(error) === 'EEXIST') throw error;
    if ((await targetStatus(target, disk)) !== null) throw systemError('EEXIST', target);
    await disk.rename(temporary, target);
    return;
  }
  await disk.rm(temporary, { force: true });
}

/** The file that a chain of links leads to, which need not exist. @throws ELOOP. */
async function followed(file: string, disk: Disk): Promise<string> {
  let at = file;
  for (let left = maximumLinks; left > 0; left -= 1) {
    const next = await disk.readlink(at).catch((error: unknown) => {
      // EINVAL: no link. Windows reports UNKNOWN for some files.
      if (['EINVAL', 'ENOENT', 'UNKNOWN'].includes(systemCode(error) ?? '')) return null;
      throw error;
    });
    if (next === null) return at;
    at = path.resolve(path.dirname(at), next);
  }
  throw systemError('ELOOP', file);
}

async function targetStatus(target: string, disk: Disk): Promise<Stats | null> {
  try {
    return await disk.stat(target);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/** So that a crash of the machine does not undo the renaming; systems that cannot open folders do without. */
async function flushFolder(folder: string, disk: Disk): Promise<void> {
  const handle = await disk.open(folder).catch(() => null);
  await handle?.sync().catch(() => undefined);
  await handle?.close().catch(() => undefined);
}

/** Removes temporary files of processes that died. Never rejects: what was to be written is written. */
async function removeLeftovers(folder: string, nowMs: number, disk: Disk): Promise<void> {
  const names = await disk.readdir(folder).catch(() => []);
  for (const name of names.filter((each) => temporaryName.test(each))) {
    const leftover = path.join(folder, name);
    const status = await disk.lstat(leftover).catch(() => null);
    if (status?.isFile() === true && nowMs - status.mtimeMs > abandonedMs) await disk.rm(leftover, { force: true }).catch(() => undefined);
  }
}

const writing = new Set<string>();

/** Removes a file when the process ends in the middle. @returns what forgets it again. */
function removedOnExit(file: string): () => void {
  process.off('exit', abandonWrites).on('exit', abandonWrites);
  writing.add(file);
  return () => {
    writing.delete(file);
    if (writing.size === 0) process.off('exit', abandonWrites);
  };
}

function systemError(code: string, file: string): Error {
  return Object.assign(new Error(`${code}: ${file}`), { code });
}
