import type { FileHandle } from 'node:fs/promises';
import { ExpectedError, throwIfCancelled, type CancelSignal } from '../../../core/errors';
import { fileStart } from '../../../core/languages/json/document';
import { sentence, type Sentence } from '../../../core/sentence';
import { openRegular } from '../../../files/read-regular';
import { makeOomLogReader } from '../core/read-log';
import { readSnapshot } from '../core/snapshot';
import type { Evidence } from '../core/evidence';

/** A snapshot is held whole while it is read; logs are read piece by piece. */
const mostSnapshotBytes = 2 ** 28;
const mostLogBytes = 2 ** 33;
const pieceBytes = 2 ** 20;

/**
 * What the file of a run shows of its memory: a pickle is read as a memory snapshot, anything else as a log.
 * @param name its path, or `-` for a log on standard input.
 * @throws ExpectedError `oom-unreadable`, `snapshot-too-large`, and as `readSnapshot`; CancelledError.
 */
export async function readEvidence(name: string, signal: CancelSignal): Promise<Evidence> {
  if (name === '-') return readLog(process.stdin, signal);
  const handle = await opened(name);
  try {
    const { size } = await handle.stat();
    const start = await handle.read(Buffer.alloc(4), 0, 4, 0);
    const [first, second] = start.bytesRead < 2 ? [0, 0] : start.buffer;
    if (first === 0x50 && second === 0x4b)
      throw unreadable(name, sentence`is a zip archive`, sentence`give the pickle of torch.cuda.memory._dump_snapshot`);
    if (first !== 0x80) {
      if (size > mostLogBytes) throw unreadable(name, sentence`is over 8 GiB`, sentence`give its end: tail -c 100M`);
      return await readLog(handle.createReadStream({ start: 0, highWaterMark: pieceBytes, autoClose: false }), signal);
    }
    if (size > mostSnapshotBytes) {
      const remedy = sentence`record less: _record_memory_history(max_entries=100000, stacks="python")`;
      throw new ExpectedError('snapshot-too-large', sentence`The snapshot is over 256 MiB`, remedy, fileStart(name));
    }
    const snapshot = readSnapshot(await readWhole(handle, size), name);
    return {
      source: 'snapshot',
      errors: [],
      points: [],
      lastStep: null,
      hasSteps: null,
      isExpandable: snapshot.isExpandable,
      host: null,
      snapshot,
    };
  } finally {
    await handle.close();
  }
}

async function opened(name: string): Promise<FileHandle> {
  const handle = await openRegular(name).catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw unreadable(name, sentence`cannot be read (${code})`, sentence`check that it exists and is readable`);
  });
  if (typeof handle !== 'string') return handle;
  throw unreadable(name, sentence`is not a regular file`, sentence`name a log or a memory snapshot`);
}

/** To the size that it had when it was opened. */
async function readWhole(handle: FileHandle, size: number): Promise<Uint8Array> {
  const bytes = Buffer.alloc(size);
  let length = 0;
  while (length < size) {
    const { bytesRead } = await handle.read(bytes, length, size - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

async function readLog(stream: AsyncIterable<unknown>, signal: CancelSignal): Promise<Evidence> {
  const reader = makeOomLogReader();
  const decoder = new TextDecoder('utf-8');
  for await (const piece of stream) {
    throwIfCancelled(signal);
    reader.push(decoder.decode(Buffer.from(piece as Uint8Array), { stream: true }));
  }
  return reader.end();
}

function unreadable(name: string, what: Sentence, remedy: Sentence): ExpectedError {
  return new ExpectedError('oom-unreadable', sentence`The file ${what}`, remedy, fileStart(name));
}
