import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { systemCode } from './system-reason';

/** What is at a path of this machine: a regular file's bytes, or why there are none. */
export type StoredFile = { readonly kind: 'file'; readonly bytes: Uint8Array } | { readonly kind: 'folder' | 'device' | 'too large' };

/**
 * Opens a regular file to read it, or finds what else is at its path. A named pipe is not waited for.
 * @throws the system's error, with its code.
 */
export async function openRegular(file: string): Promise<FileHandle | 'folder' | 'device'> {
  let handle: FileHandle;
  try {
    handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    // Of a socket.
    if (systemCode(error) === 'ENXIO') return 'device';
    throw error;
  }
  let isKept = false;
  try {
    const status = await handle.stat();
    isKept = status.isFile();
    return isKept ? handle : status.isDirectory() ? 'folder' : 'device';
  } finally {
    if (!isKept) await handle.close();
  }
}

/**
 * Reads a regular file of at most `mostBytes`, as `openRegular` opens it.
 * @throws the system's error, with its code.
 */
export async function readRegular(file: string, mostBytes: number): Promise<StoredFile> {
  const handle = await openRegular(file);
  if (typeof handle === 'string') return { kind: handle };
  try {
    const status = await handle.stat();
    if (status.size > mostBytes) return { kind: 'too large' };
    // A file that grows meanwhile, or of a file system that has no sizes, is read to the limit.
    const parts: Uint8Array[] = [];
    let length = 0;
    for (;;) {
      const { bytesRead, buffer } = await handle.read(
        Buffer.alloc(Math.max(4096, Math.min(status.size + 1 - length, mostBytes + 1 - length))),
      );
      if (bytesRead === 0) return { kind: 'file', bytes: Buffer.concat(parts) };
      parts.push(buffer.subarray(0, bytesRead));
      length += bytesRead;
      if (length > mostBytes) return { kind: 'too large' };
    }
  } finally {
    await handle.close();
  }
}
