import { createReadStream, type Stats } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { traceError } from '../core/events';
import type { Measured } from '../core/measured';
import { readPieces, readSmall, requireReadable } from '../core/read-whole';
import { maximumConfigSize } from '../../../core/languages/json/document';
import type { CancelSignal, ExpectedError } from '../../../core/errors';
import { sentence } from '../../../core/sentence';

const pieceSize = 2 ** 20;

export interface ReadingMeasured {
  readonly signal?: CancelSignal | undefined;
  /** Called with growing fractions, 0..1, of a file that is read piece by piece. */
  readonly onProgress?: ((fraction: number) => void) | undefined;
}

/**
 * Reads the file of a measured run, recognised by its content: a Chrome trace or measured times. What is too large for a config is read
 * piece by piece and never held whole.
 * @param path on this machine. @param file its identity, in the places of errors.
 * @throws ExpectedError `measured-unreadable`, `measured-too-large`, `measured-unknown`, and as `readMeasured`; CancelledError.
 */
export async function readMeasuredFile(path: string, file: string, options: ReadingMeasured = {}): Promise<Measured> {
  try {
    const { size } = await regularFileStatus(path, file);
    requireReadable(size, file);
    return size > maximumConfigSize ? await readLarge(path, file, size, options) : readSmall(await readFile(path, 'utf8'), file);
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) throw unreadable(file, error);
    throw error;
  }
}

/** What distinguishes one version of a file from another. @throws ExpectedError `measured-unreadable`. */
export async function regularFileStatus(path: string, file: string): Promise<Pick<Stats, 'size' | 'mtimeMs'>> {
  const status = await stat(path).catch((error: unknown) => {
    throw unreadable(file, error);
  });
  if (status.isFile()) return status;
  throw traceError('measured-unreadable', file, sentence`This is not a regular file`, sentence`name a trace or measured times`);
}

function unreadable(file: string, error: unknown): ExpectedError {
  const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
  return traceError('measured-unreadable', file, sentence`The file cannot be read${code}`, sentence`check that it exists and is readable`);
}

/** Reads a trace or a log without ever holding the whole file. */
function readLarge(path: string, file: string, size: number, { signal, onProgress }: ReadingMeasured): Promise<Measured> {
  const stream = createReadStream(path, { encoding: 'utf8', highWaterMark: pieceSize });
  return readPieces(stream as AsyncIterable<string>, file, {
    signal,
    wasRead: () => onProgress?.(Math.min(1, stream.bytesRead / size)),
  });
}
