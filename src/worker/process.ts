import { fork } from 'node:child_process';
import type { PlannerProcess, ProcessOptions, ProcessRequest, StartPlanner } from '../host/planner/process';
import { createPulse } from './pulse';

/** The answer to `ping`, of the process itself: its thread may be planning. */
export const pong = 'pong';

/** What comes from it in addition to the replies: why its thread ended. */
export interface ThreadEnd {
  readonly type: 'thread-ended';
  readonly message: string;
  /** Of an error of Node.js; null for others. */
  readonly code: string | null;
}

/** Signals that a process gets for a fault of its own are not among them. */
const outsideSignals: readonly NodeJS.Signals[] = ['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'];

/**
 * Starts a planner's bundle in a process of its own, since the memory of a thread is that of its process: the extension host's, which all
 * extensions share and which gives little of it back.
 */
export function plannerProcess(file: string): StartPlanner {
  return (options) => startPlannerProcess(file, options);
}

function startPlannerProcess(file: string, { onReply, onEnd, pingMs }: ProcessOptions): PlannerProcess {
  // Each arena of glibc keeps what was freed in it; VS Code's own Node.js is Electron.
  const env = { ...process.env, ELECTRON_RUN_AS_NODE: '1', MALLOC_ARENA_MAX: '2' };
  const child = fork(file, [], { env, execArgv: [], serialization: 'advanced', stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  const pulse = createPulse();
  let pings: NodeJS.Timeout | undefined;
  let stopped = false;
  let isStarted = false;
  let answered = false;
  const kill = (): void => {
    clearInterval(pings);
    stopped = true;
    child.kill('SIGKILL');
  };
  const end = (cause: Error, fromOutside = false): void => {
    const isFirst = !stopped;
    kill();
    if (isFirst) onEnd({ cause, fromOutside });
  };
  const gone = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      resolve();
      if (signal === null) end(new Error(`exit code ${code ?? 'unknown'}`));
      else end(new Error(`signal ${signal}`), outsideSignals.includes(signal));
    });
    child.once('error', (error) => {
      if (child.pid === undefined) resolve();
      end(error);
    });
  });
  child.on('message', (message) => {
    if (stopped) return;
    isStarted = true;
    pulse.beat();
    if (message === pong) return;
    if (isThreadEnd(message)) end(Object.assign(new Error(message.message), message.code === null ? {} : { code: message.code }));
    else {
      answered = true;
      onReply(message);
    }
  });
  // A failure to send means that the child is gone, which `exit` reports with the reason.
  const send = (message: ProcessRequest): void => void child.send(message, () => undefined);
  const ping = (): void => {
    if (!isStarted || pulse.ask()) send({ type: 'ping' });
    else end(new Error('it no longer answered'), true);
  };
  return {
    send,
    hasAnswered: () => answered,
    hold: (waits) => {
      clearInterval(pings);
      if (waits && !stopped) {
        pulse.beat();
        pings = setInterval(ping, pingMs).unref();
      }
      for (const handle of [child, child.channel]) {
        if (waits) handle?.ref();
        else handle?.unref();
      }
    },
    stop: () => {
      kill();
      return gone;
    },
  };
}

function isThreadEnd(message: unknown): message is ThreadEnd {
  return typeof message === 'object' && message !== null && 'type' in message && message.type === 'thread-ended';
}
