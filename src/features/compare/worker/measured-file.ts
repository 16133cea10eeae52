import { createReadStream, type Stats } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { traceError } from '../core/events';
import { isMeasured, readMeasured, type Measured } from '../core/measured';
import { timesOfLog } from '../core/times';
import { makeTraceReader } from '../core/trace';
import { maximumConfigSize } from '../../../core/languages/json/document';
import { makeLogReader } from '../core/logs/read-log';
import { logNames } from '../core/logs/registry';
import { orList } from '../../../core/text';
import { throwIfCancelled, type CancelSignal, type ExpectedError } from '../../../core/errors';
import { sentence } from '../../../core/sentence';

/** A file of a measured run larger than this is refused: reading it would take minutes. */
const maximumSize = 2 ** 31;
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
    if (size > maximumSize)
      throw traceError(
        'measured-too-large',
        file,
        sentence`The file is over 2 GB`,
        sentence`record fewer steps: one after the warm-up is enough`,
      );
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

function readSmall(text: string, file: string): Measured {
  if (isMeasured(text)) return readMeasured(text, file);
  throw traceError(
    'measured-unknown',
    file,
    sentence`This is neither a trace nor measured times`,
    sentence`give a Chrome trace, step times as CSV or JSON, or a log of ${orList(logNames)}`,
  );
}

/** Whether a file begins as JSON does; a log begins with `[2026-11-22 09:00:00]`, `[rank0]:` or `[titan]`. */
function isTraceStart(text: string): boolean {
  return /^[\s\uFEFF]*(?:\{|\[\s*(?:[{\]]|$))/.test(text);
}

/** Reads a trace or a log without ever holding the whole file. */
async function readLarge(path: string, file: string, size: number, { signal, onProgress }: ReadingMeasured): Promise<Measured> {
  const stream = createReadStream(path, { encoding: 'utf8', highWaterMark: pieceSize });
  const trace = makeTraceReader(file);
  const log = makeLogReader();
  let isLog: boolean | null = null;
  for await (const piece of stream) {
    throwIfCancelled(signal);
    const text = String(piece);
    isLog ??= !isTraceStart(text);
    (isLog ? log : trace).push(text);
    onProgress?.(Math.min(1, stream.bytesRead / size));
  }
  return isLog === true ? { kind: 'times', times: timesOfLog(log.end(), file) } : { kind: 'trace', trace: trace.end() };
}
