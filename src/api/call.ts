import path from 'node:path';
import { Worker } from 'node:worker_threads';
import type { ThreadData, ThreadMessage } from '../cli/command-thread';
import type { CallOptions, ErrorAnswer } from './types';

/** Bad input: what is wrong, what to do, and where. */
export class TerapipeError extends Error {
  override readonly name = 'TerapipeError';
  readonly code: string;
  readonly remedy: string;
  /** Null: it is in no file. Line and column from 1. */
  readonly file: string | null;
  readonly line: number | null;
  readonly column: number | null;

  constructor({ message, code, remedy, file, line, column }: ErrorAnswer['error']) {
    super(`${message}; ${remedy}`);
    [this.code, this.remedy, this.file, this.line, this.column] = [code, remedy, file, line, column];
  }
}

/** Most memory of a call's objects, MB; typed arrays come on top. */
const memoryLimitMb = 1024;
/** How long a call that is ended may take to clean up, ms. */
const cleaningMs = 100;

/**
 * What a command line with `--json` answers, run as the terminal runs it: on a thread of its own, which ends with the call.
 * @param input standard input, which the argument `-` reads.
 * @throws TerapipeError for bad input; the signal's reason; Error for a fault of ours.
 */
export function callCommand(args: readonly string[], { signal, onProgress }: CallOptions, input: string | null = null): Promise<unknown> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(abortReason(signal));
      return;
    }
    const data: ThreadData = { args, debug: false };
    const thread = new Worker(path.join(__dirname, 'command.js'), {
      workerData: data,
      stdin: input !== null,
      resourceLimits: { maxOldGenerationSizeMb: memoryLimitMb },
    });
    let out = '';
    const settle = (end: () => void): void => {
      signal?.removeEventListener('abort', abort);
      void thread.terminate();
      end();
    };
    const abort = (): void => {
      thread.postMessage('interrupt');
      setTimeout(() => void thread.terminate(), cleaningMs);
      if (signal !== undefined) reject(abortReason(signal));
    };
    signal?.addEventListener('abort', abort, { once: true });
    thread.stdin?.end(input ?? '');
    thread.on('message', (message: ThreadMessage) => {
      if (message.type === 'out') {
        out += message.text;
        thread.postMessage('out');
      } else if (message.type === 'progress' || message.type === 'status') onProgress?.(message.text);
      else if (message.type === 'ended') settle(() => finish(out, resolve, reject));
    });
    thread.on('error', (error: NodeJS.ErrnoException) => {
      settle(() => reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new TerapipeError(outOfMemory) : error));
    });
    thread.on('exit', () => reject(new Error('the thread of the call ended without an answer')));
  });
}

const outOfMemory: ErrorAnswer['error'] = {
  code: 'out-of-memory',
  message: `This takes more than ${memoryLimitMb} MB of memory`,
  remedy: 'use fewer micro-batches, slices or stages, or check fewer files at once',
  file: null,
  line: null,
  column: null,
};

function finish(out: string, resolve: (answer: unknown) => void, reject: (error: Error) => void): void {
  try {
    const answer = JSON.parse(out) as { readonly error?: ErrorAnswer['error'] };
    if (answer.error === undefined) resolve(answer);
    else reject(answer.error.code === 'internal' ? new Error(answer.error.message) : new TerapipeError(answer.error));
  } catch (error) {
    reject(error instanceof Error ? error : new Error(String(error)));
  }
}

function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new DOMException('This operation was aborted', 'AbortError');
}
