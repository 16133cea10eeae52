import { ExpectedError } from '../core/errors';
import { maximumConfigSize } from '../core/languages/json/document';
import { sentence } from '../core/sentence';
import { compareWithTimes } from '../features/compare/core/against-times';
import { compareWithTrace } from '../features/compare/core/against-trace';
import type { Measured } from '../features/compare/core/measured';
import { comparePlans } from '../features/compare/core/plans';
import { readPieces, readSmall, requireReadable } from '../features/compare/core/read-whole';
import { evidenceOfText } from '../features/oom/core/read-log';
import { makePlanners } from '../worker/planners';
import { servePlanner } from '../worker/serve';
import { receiveCancelFlag } from '../host/planner/cancel-flag';
import type { WithMeasured } from './planner-worker';

/** The planner in a web worker; returns what takes its messages. While it plans it reads none, only its flag. */
export function serveWorker(): (message: unknown) => void {
  const listeners: ((message: unknown) => void)[] = [];
  let given: File | null = null;
  const flag = receiveCancelFlag();
  const planners = makePlanners({
    compare: async ({ plan, against }, { onProgress }) => {
      if (against.kind === 'plan') return comparePlans(plan, against.plan, { a: 'A', b: 'B' });
      const measured = await readMeasuredFile(given, against.file, onProgress);
      return measured.kind === 'trace' ? compareWithTrace(plan, measured.trace, against.file) : compareWithTimes(plan, measured.times);
    },
    readEvidence: (source) => (source.kind === 'text' ? Promise.resolve(evidenceOfText(source.text)) : Promise.reject(notOpen())),
  });
  const port = {
    onMessage: (listener: (message: unknown) => void) => void listeners.push(listener),
    post: (message: unknown, moved: readonly ArrayBuffer[] = []) => self.postMessage(message, { transfer: [...moved] }),
  };
  servePlanner(port, flag.isGivenUp, planners);
  return (message) => {
    if (flag.take(message)) return;
    if (isWithMeasured(message)) given = message.measured;
    listeners.forEach((listener) => listener(message));
  };
}

/** Reads a measured run; what is too large for a config piece by piece. @throws ExpectedError as `readSmall`; `measured-not-local`. */
async function readMeasuredFile(given: File | null, file: string, onProgress: (fraction: number) => void): Promise<Measured> {
  if (given === null) throw notOpen();
  requireReadable(given.size, file);
  if (given.size <= maximumConfigSize) return readSmall(await given.text(), file);
  let read = 0;
  const counted = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform: (bytes, stream) => {
      read += bytes.length;
      stream.enqueue(bytes);
    },
  });
  const texts = given.stream().pipeThrough(counted).pipeThrough(new TextDecoderStream());
  return readPieces(pieces(texts), file, { wasRead: () => onProgress(read / given.size) });
}

async function* pieces(stream: ReadableStream<string>): AsyncGenerator<string> {
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
}

function isWithMeasured(message: unknown): message is WithMeasured {
  return typeof message === 'object' && message !== null && 'measured' in message;
}

function notOpen(): ExpectedError {
  return new ExpectedError('measured-not-local', sentence`The measured run is no longer open`, sentence`open its file again`);
}
