import { fork } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { CancelledError, ExpectedError } from '../core/errors';
import { parseProfilerReply, type ProfilerReply, type ProfilerRequest, type WithoutId } from '../protocol/profiler';
import { sentence } from '../core/sentence';

/** A request before it is numbered. */
export type ProfilerRequestBody = WithoutId<ProfilerRequest>;

/** What is asked of a child and what it answers. */
interface Numbered {
  readonly id: number;
}

/** One run of a child. It takes one request at a time and is never used again once a request was rejected. */
export interface ServedProcess<Request extends Numbered, Reply extends Numbered> {
  /**
   * Rejects with CancelledError once stopped, with what `died` makes when the child ended, was killed or sent what is not a reply, and with
   * what `timedOut` makes (the child is killed) when there is no answer within `limitMs`.
   */
  readonly request: (body: WithoutId<Request>, limitMs: number) => Promise<Reply>;
  /** The end of what the child and the native libraries in it wrote to standard error, at most 64 kB. */
  readonly stderr: () => string;
  /** The part of it that was written since the last request. */
  readonly newStderr: () => string;
  /** Kills the child (no signal handler can delay that) and rejects what waits with CancelledError at once; resolves when it is gone. */
  readonly stop: () => Promise<void>;
}

export type ProfilerProcess = ServedProcess<ProfilerRequest, ProfilerReply>;

/** What is particular to a kind of child. */
interface Service<Reply extends Numbered> {
  /** Arguments of the child. */
  readonly args: readonly string[];
  /** Options of Node.js and V8. */
  readonly execArgv?: readonly string[];
  /** @throws when a message is not a reply. */
  readonly parse: (message: unknown) => Reply;
  /** Whether a reply only reports how far the request is, which is then heard here. */
  readonly isNotice?: (reply: Reply) => boolean;
  /** @param how it ended. @param line the last that it wrote, or nothing. */
  readonly died: (how: string, line: string) => ExpectedError;
  readonly timedOut: (limitMs: number) => ExpectedError;
}

interface Waiting<Reply> {
  readonly id: number;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** How much of standard error is kept, and how long after the end of the child its last lines are waited for. */
const keptCharacters = 64 * 1024;
const lastWordsMs = 100;

/** Starts the child that times cells. */
export function startProfilerProcess(childFile: string, env: NodeJS.ProcessEnv): ProfilerProcess {
  return startProcess<ProfilerRequest, ProfilerReply>(childFile, env, { args: [], parse: parseProfilerReply, died, timedOut });
}

/**
 * Starts `childFile` in a process of its own: a run of ONNX Runtime blocks its thread and cannot be interrupted, and ending a worker thread
 * during one aborts the process.
 */
export function startProcess<Request extends Numbered, Reply extends Numbered>(
  childFile: string,
  env: NodeJS.ProcessEnv,
  { args, execArgv = [], parse, isNotice = () => false, died: diedError, timedOut: timedOutError }: Service<Reply>,
): ServedProcess<Request, Reply> {
  const child = fork(childFile, [...args], {
    env,
    execArgv: [...execArgv],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let stderr = '';
  let newStderr = '';
  let waiting: Waiting<Reply> | null = null;
  let ended: Error | null = null;
  let lastId = 0;

  const settle = (): Waiting<Reply> | null => {
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
      end(diedError(how, lastLine(stderr)));
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
    newStderr = (newStderr + text).slice(-keptCharacters);
  });
  child.once('disconnect', () => {
    child.kill('SIGKILL');
  });
  child.on('message', (message) => {
    let reply: Reply;
    try {
      reply = parse(message);
    } catch {
      end(diedError('it sent something that is not a reply', lastLine(stderr)));
      return;
    }
    if (!isNotice(reply) && reply.id === waiting?.id) settle()?.resolve(reply);
  });

  return {
    request: (body, limitMs) =>
      new Promise((resolve, reject) => {
        if (ended !== null) {
          reject(ended);
          return;
        }
        const id = ++lastId;
        newStderr = '';
        const timer = setTimeout(() => {
          end(timedOutError(limitMs));
        }, limitMs);
        waiting = { id, resolve, reject, timer };
        // A failure to send means that the child is gone, which `exit` reports with the reason.
        child.send({ ...body, id }, () => undefined);
      }),
    stderr: () => stderr,
    newStderr: () => newStderr,
    stop: () => {
      end(new CancelledError());
      return gone;
    },
  };
}

function died(how: string, line: string): ExpectedError {
  return new ExpectedError(
    'profiler-died',
    sentence`The profiler's process ended during the measurement (${how})${line === '' ? '' : sentence`: ${line}`}`,
    sentence`measure again; if it ran out of memory, use shorter sequences or a larger tensor size`,
  );
}

function timedOut(limitMs: number): ExpectedError {
  return new ExpectedError(
    'profiler-timeout',
    sentence`The profiler gave no answer within ${Math.round(limitMs / 1000)} s and was ended`,
    sentence`measure shorter sequences, or on a faster device`,
  );
}

/** The last line that has content, without colours and stack traces: of an uncaught exception its message. */
export function lastLine(text: string): string {
  const [message = ''] = stripVTControlCharacters(text).split(/^-+ (?:Native|JavaScript) stack trace -+$/m);
  const lines = message.split('\n').map((line) => line.trim());
  const uncaught = lines.some((line) => line.startsWith('Node.js v')) ? lines.filter((line) => /^\w*Error\b.*: /.test(line)) : [];
  return (uncaught.at(-1) ?? lines.filter((line) => line !== '').at(-1) ?? '').slice(0, 400);
}
