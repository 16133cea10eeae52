import { fork } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { CancelledError, ExpectedError } from '../core/errors';
import { parseProfilerReply, type ProfilerReply, type ProfilerRequest, type WithoutId } from '../protocol/profiler';

/** A request before it is numbered. */
export type ProfilerRequestBody = WithoutId<ProfilerRequest>;

/** One run of the child. It takes one request at a time and is never used again once a request was rejected. */
export interface ProfilerProcess {
  /**
   * Rejects with CancelledError once stopped, with ExpectedError `profiler-died` when the child ended, was killed or sent what is no reply,
   * and with
   * `profiler-timeout` (the child is killed) when there is no answer within `limitMs`.
   */
  readonly request: (body: ProfilerRequestBody, limitMs: number) => Promise<ProfilerReply>;
  /** The end of what the child and the native libraries in it wrote to standard error, at most 64 kB. */
  readonly stderr: () => string;
  /** The part of it that was written since the last request. */
  readonly said: () => string;
  /** Kills the child (no signal handler can delay that) and rejects what waits with CancelledError at once; resolves when it is gone. */
  readonly stop: () => Promise<void>;
}

interface Waiting {
  readonly id: number;
  readonly resolve: (reply: ProfilerReply) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** How much of standard error is kept, and how long after the end of the child its last lines are waited for. */
const keptCharacters = 64 * 1024;
const lastWordsMs = 100;

/**
 * Starts `childFile` in a process of its own: a run of ONNX Runtime blocks its thread and cannot be interrupted, and ending a worker thread
 * during one aborts the process.
 */
export function startProfilerProcess(childFile: string, env: NodeJS.ProcessEnv): ProfilerProcess {
  const child = fork(childFile, [], { env, execArgv: [], serialization: 'advanced', stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  let stderr = '';
  let said = '';
  let waiting: Waiting | null = null;
  let ended: Error | null = null;
  let lastId = 0;

  const settle = (): Waiting | null => {
    const settled = waiting;
    waiting = null;
    if (settled !== null) clearTimeout(settled.timer);
    return settled;
  };
  const end = (error: Error): void => {
    child.kill('SIGKILL');
    ended ??= error;
    settle()?.reject(ended);
  };
  const gone = new Promise<void>((resolve) => {
    const done = (how: string): void => {
      resolve();
      end(died(how, stderr));
    };
    // `close` comes when standard error has been read to its end, which a process started by the child could hold open.
    child.once('exit', (code, signal) => {
      const how = signal === null ? `exit code ${code ?? 'unknown'}` : `signal ${signal}`;
      // What lies in the pipe by then is read before `setImmediate`, however late a busy machine is with the timer.
      const timer = setTimeout(() => setImmediate(done, how), lastWordsMs);
      child.once('close', () => {
        clearTimeout(timer);
        done(how);
      });
    });
    child.once('error', (error) => {
      done(error.message);
    });
  });

  child.stderr?.setEncoding('utf8');
  child.stderr?.on('data', (text: string) => {
    stderr = (stderr + text).slice(-keptCharacters);
    said = (said + text).slice(-keptCharacters);
  });
  child.once('disconnect', () => {
    child.kill('SIGKILL');
  });
  child.on('message', (message) => {
    let reply: ProfilerReply;
    try {
      reply = parseProfilerReply(message);
    } catch {
      end(died('it sent something that is no reply', stderr));
      return;
    }
    if (reply.id === waiting?.id) settle()?.resolve(reply);
  });

  return {
    request: (body, limitMs) =>
      new Promise((resolve, reject) => {
        if (ended !== null) {
          reject(ended);
          return;
        }
        const id = ++lastId;
        said = '';
        const timer = setTimeout(() => {
          end(timedOut(limitMs));
        }, limitMs);
        waiting = { id, resolve, reject, timer };
        // A failure to send means that the child is gone, which `exit` tells with the reason.
        child.send({ ...body, id } satisfies ProfilerRequest, () => undefined);
      }),
    stderr: () => stderr,
    said: () => said,
    stop: () => {
      end(new CancelledError());
      return gone;
    },
  };
}

function died(how: string, stderr: string): ExpectedError {
  const line = lastLine(stderr);
  return new ExpectedError(
    'profiler-died',
    `The profiler's process ended during the measurement (${how})${line === '' ? '' : `: ${line}`}`,
    'measure again; if it ended for lack of memory, measure shorter sequences or a larger tensor-parallel share',
  );
}

function timedOut(limitMs: number): ExpectedError {
  return new ExpectedError(
    'profiler-timeout',
    `The profiler gave no answer within ${Math.round(limitMs / 1000)} s and was ended`,
    'measure shorter sequences, or on a faster device',
  );
}

/** The last line that says something, without colours and stack traces: of an uncaught exception its message. */
export function lastLine(text: string): string {
  const [said = ''] = stripVTControlCharacters(text).split(/^-+ (?:Native|JavaScript) stack trace -+$/m);
  const lines = said.split('\n').map((line) => line.trim());
  const uncaught = lines.some((line) => line.startsWith('Node.js v')) ? lines.filter((line) => /^\w*Error\b.*: /.test(line)) : [];
  return (uncaught.at(-1) ?? lines.filter((line) => line !== '').at(-1) ?? '').slice(0, 400);
}
