import { Worker } from 'node:worker_threads';
import type { ToolAnswer } from '../core/tool';
import type { ToolJob, ToolReply, ToolThreadData } from './tool-jobs';

interface CallOptions {
  readonly signal: AbortSignal;
  readonly onProgress?: (text: string) => void;
}

/** Calls of tools, on a thread of their own. */
interface ToolThread {
  /** Null: it was cancelled. @throws Error where the thread died or has a fault. */
  readonly call: (name: string, input: unknown, options: CallOptions) => Promise<ToolAnswer | null>;
  readonly end: () => Promise<void>;
}

interface Underway extends CallOptions {
  readonly job: ToolJob;
  readonly settle: (answer: ToolAnswer | null) => void;
  readonly fail: (error: Error) => void;
}

/** How long a cancelled call may take to hear of it, ms; then its thread is ended, and the next call gets another. */
const hearingMs = 1000;
/** Most memory of a thread's objects, MB. */
const memoryLimitMb = 1024;

/** Runs calls one after the other. @param file of the thread. @param root the folder that tools may read. */
export function openToolThread(file: string, root: string): ToolThread {
  const cancelFlag = new SharedArrayBuffer(4);
  const waiting: Underway[] = [];
  let current: Underway | undefined;
  let thread: Worker | undefined;
  let lastId = 0;

  const next = (): void => {
    if (current !== undefined) return;
    current = waiting.shift();
    if (current !== undefined) (thread ??= start()).postMessage(current.job);
  };
  const finish = (how: (call: Underway) => void): void => {
    const call = current;
    current = undefined;
    if (call !== undefined) how(call);
    next();
  };
  const start = (): Worker => {
    const workerData: ToolThreadData = { cancelFlag, root };
    const started = new Worker(file, { workerData, resourceLimits: { maxOldGenerationSizeMb: memoryLimitMb }, stdout: true });
    started.on('message', (reply: ToolReply) => {
      if (reply.id !== current?.job.id) return;
      if (reply.type === 'progress') current.onProgress?.(reply.text);
      else if (reply.type === 'answer') finish(({ settle }) => settle(reply.answer));
      else if (reply.type === 'cancelled') finish(({ settle }) => settle(null));
      else finish(({ fail }) => fail(new Error(reply.message)));
    });
    const ended = (error: Error): void => {
      if (thread !== started) return;
      thread = undefined;
      finish(({ fail, settle, signal }) => (signal.aborted ? settle(null) : fail(error)));
    };
    started.on('error', ended);
    started.on('exit', () => ended(new Error('the thread of tools ended')));
    return started;
  };
  const cancel = (call: Underway): void => {
    const at = waiting.indexOf(call);
    if (at >= 0) {
      waiting.splice(at, 1);
      call.settle(null);
    }
    if (current !== call) return;
    Atomics.store(new Int32Array(cancelFlag), 0, call.job.id);
    setTimeout(() => {
      if (current === call) void thread?.terminate();
    }, hearingMs).unref();
  };
  return {
    call: (name, input, options) =>
      new Promise((settle, fail) => {
        const call: Underway = { job: { id: (lastId += 1), name, input }, settle, fail, ...options };
        if (options.signal.aborted) {
          settle(null);
          return;
        }
        options.signal.addEventListener('abort', () => cancel(call), { once: true });
        waiting.push(call);
        next();
      }),
    end: async () => {
      await thread?.terminate();
    },
  };
}
