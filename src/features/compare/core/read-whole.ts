import { throwIfCancelled, type CancelSignal } from '../../../core/errors';
import { sentence } from '../../../core/sentence';
import { orList } from '../../../core/text';
import { traceError } from './events';
import { makeLogReader } from './logs/read-log';
import { logNames } from './logs/registry';
import { isMeasured, readMeasured, type Measured } from './measured';
import { timesOfLog } from './times';
import { makeTraceReader } from './trace';

/** A file of a measured run larger than this is refused, bytes: reading it would take minutes. */
const maximumSize = 2 ** 31;

/** @param size of the file `file`, bytes. @throws ExpectedError `measured-too-large`. */
export function requireReadable(size: number, file: string): void {
  if (size > maximumSize)
    throw traceError(
      'measured-too-large',
      file,
      sentence`The file is over 2 GB`,
      sentence`record fewer steps: one after the warm-up is enough`,
    );
}

/** A measured run from its text. @throws ExpectedError `measured-unknown`, and as `readMeasured`. */
export function readSmall(text: string, file: string): Measured {
  if (isMeasured(text)) return readMeasured(text, file);
  throw traceError(
    'measured-unknown',
    file,
    sentence`This is neither a trace nor measured times`,
    sentence`give a Chrome trace, step times as CSV or JSON, or a log of ${orList(logNames)}`,
  );
}

/**
 * Reads a trace or a log piece by piece, without ever holding the whole file.
 * @param wasRead called after each piece.
 * @throws ExpectedError as `readMeasured`; CancelledError.
 */
export async function readPieces(
  pieces: AsyncIterable<string>,
  file: string,
  { signal, wasRead }: { readonly signal?: CancelSignal | undefined; readonly wasRead: () => void },
): Promise<Measured> {
  const trace = makeTraceReader(file);
  const log = makeLogReader();
  let isLog: boolean | null = null;
  for await (const text of pieces) {
    throwIfCancelled(signal);
    isLog ??= !isTraceStart(text);
    (isLog ? log : trace).push(text);
    wasRead();
  }
  return isLog === true ? { kind: 'times', times: timesOfLog(log.end(), file) } : { kind: 'trace', trace: trace.end() };
}

/** Whether a file begins as JSON does; a log begins with `[2026-11-22 09:00:00]`, `[rank0]:` or `[titan]`. */
function isTraceStart(text: string): boolean {
  return /^[\s\uFEFF]*(?:\{|\[\s*(?:[{\]]|$))/.test(text);
}
