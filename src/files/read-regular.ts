import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** What is at a path of this machine: a regular file's bytes, or why there are none. */
export type StoredFile = { readonly kind: 'file'; readonly bytes: Uint8Array } | { readonly kind: 'folder' | 'device' | 'too large' };

/**
 * Reads a regular file of at most `mostBytes`. A named pipe is not waited for, and no device is read.
 * @throws the system's error, with its code.
 */
export async function readRegular(file: string, mostBytes: number): Promise<StoredFile> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const status = await handle.stat();
    if (status.isDirectory()) return { kind: 'folder' };
    if (!status.isFile()) return { kind: 'device' };
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
