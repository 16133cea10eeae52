import { fork } from 'node:child_process';
import type { WorkerRequest } from '../protocol/worker';

/** Most memory of the planner's objects, MB; typed arrays come on top, and the planner counts them before it makes them. */
export const memoryLimitMb = 1024;

/** What goes to a planner's process: requests, and which of them to give up. */
export type ProcessRequest = WorkerRequest | { readonly type: 'give-up'; readonly id: number };

/** What comes from it in addition to the replies: why its thread ended. */
export interface ThreadEnd {
  readonly type: 'thread-ended';
  readonly message: string;
  /** Of an error of Node.js; null for others. */
  readonly code: string | null;
}

interface ProcessListener {
  /** Gets what the planner's thread answers, unchecked. */
  readonly onReply: (reply: unknown) => void;
  /** Called once, however the process ended, unless it was stopped. */
  readonly onEnd: (cause: Error) => void;
}

/** A planner in a process of its own. */
export interface PlannerProcess {
  readonly send: (message: ProcessRequest) => void;
  /** Whether any reply has come. */
  readonly hasAnswered: () => boolean;
  /** Whether our own process waits for it. */
  readonly hold: (waits: boolean) => void;
  /** Kills it; resolves when it is gone. */
  readonly stop: () => Promise<void>;
}

/**
 * Starts a planner's bundle in a process of its own, since the memory of a thread is that of its process: the extension host's, which all
 * extensions share and which gives little of it back.
 */
export function startPlannerProcess(file: string, { onReply, onEnd }: ProcessListener): PlannerProcess {
  // Each arena of glibc keeps what was freed in it; VS Code's own Node.js is Electron.
  const env = { ...process.env, ELECTRON_RUN_AS_NODE: '1', MALLOC_ARENA_MAX: '2' };
  const child = fork(file, [], { env, execArgv: [], serialization: 'advanced', stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  let stopped = false;
  let answered = false;
  const end = (cause: Error): void => {
    child.kill('SIGKILL');
    if (!stopped) onEnd(cause);
    stopped = true;
  };
  const gone = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      resolve();
      end(new Error(signal === null ? `exit code ${code ?? 'unknown'}` : `signal ${signal}`));
    });
    child.once('error', (error) => {
      if (child.pid === undefined) resolve();
      end(error);
    });
  });
  child.on('message', (message) => {
    if (stopped) return;
    if (isThreadEnd(message)) end(Object.assign(new Error(message.message), message.code === null ? {} : { code: message.code }));
    else {
      answered = true;
      onReply(message);
    }
  });
  return {
    // A failure to send means that the child is gone, which `exit` reports with the reason.
    send: (message) => void child.send(message, () => undefined),
    hasAnswered: () => answered,
    hold: (waits) => {
      for (const handle of [child, child.channel]) {
        if (waits) handle?.ref();
        else handle?.unref();
      }
    },
    stop: () => {
      stopped = true;
      child.kill('SIGKILL');
      return gone;
    },
  };
}

function isThreadEnd(message: unknown): message is ThreadEnd {
  return typeof message === 'object' && message !== null && 'type' in message && message.type === 'thread-ended';
}
