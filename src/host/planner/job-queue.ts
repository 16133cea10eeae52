import { CancelledError, ExpectedError } from '../../core/errors';
import { isPackedPart, makeUnpacker } from '../../protocol/packed';
import { parseWorkerReply, type WorkerFailure, type WorkerReply, type WorkerRequest } from '../../protocol/worker';
import { heldByNobody } from '../timers';
import { memoryLimitMb, type PlannerProcess, type ProcessEnd, type ProcessOptions, type StartPlanner } from './process';
import { say, sentence } from '../../core/sentence';

/** The reply that ends a job well. */
type Answer = Extract<WorkerReply, { readonly type: 'answer' }>;

/** A reply before that. */
type ProgressReply = Extract<WorkerReply, { readonly type: 'progress' | 'first' | 'searching' }>;

export interface Job {
  readonly message: WorkerRequest;
  readonly report: (reply: ProgressReply) => void;
  /** Settles the promise and lets go of the signal. */
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/** Jobs that wait for each other in order, in a process that starts with the first. */
export interface JobQueue {
  readonly isDisposed: () => boolean;
  readonly add: (job: Job) => void;
  /** Rejects a job. One that is under way is given up, and its process stopped where it does not notice soon. */
  readonly cancel: (job: Job) => void;
  /** Stops the process and cancels what is left. */
  readonly dispose: () => Promise<void>;
}

export interface JobQueueOptions {
  /** How long a cancelled planner may take to notice before its process is stopped, ms. */
  readonly patienceMs?: number;
  /** Without a request for this long the process is stopped, ms: what it takes of memory is given back. */
  readonly restMs?: number;
  /** How often a process that works is asked whether it still answers, ms. */
  readonly pingMs?: number;
  /** What a process may take to start, ms: one that is about to answer is not replaced. */
  readonly startMs?: number;
  /** Called with the reason, a clause, when a process ended that nobody stopped. */
  readonly onLost?: ((why: string) => void) | undefined;
}

const longestTimerMs = 2 ** 31 - 1;

/**
 * While a job is under way the process keeps ours alive, idle it does not. A job whose process is killed from outside or hangs is given to
 * another process, once.
 */
export function openJobQueue(
  start: StartPlanner,
  { patienceMs = 120, restMs = 60_000, pingMs = 1_000, startMs = 5_000, onLost = () => undefined }: JobQueueOptions = {},
): JobQueue {
  const waiting: Job[] = [];
  let running: Job | null = null;
  let isRepeatable = false;
  let worker: PlannerProcess | null = null;
  let patience: ReturnType<typeof setTimeout> | undefined;
  let rest: ReturnType<typeof setTimeout> | undefined;
  let disposed = false;

  const startNext = (): void => {
    if (running !== null) return;
    const job = waiting.shift();
    if (job === undefined) {
      worker?.hold(false);
      clearTimeout(rest);
      if (!disposed) rest = heldByNobody(setTimeout(() => void stopWorker(), restMs));
      return;
    }
    running = job;
    isRepeatable = true;
    clearTimeout(rest);
    send(job);
  };

  const send = (job: Job): void => {
    try {
      worker ??= startChecked(start, { onReply, onEnd: lost, pingMs });
      worker.hold(true);
      worker.send(job.message);
    } catch (error) {
      fail(asError(error));
    }
  };

  const finish = (settle: (job: Job) => void): void => {
    clearTimeout(patience);
    const job = running;
    running = null;
    if (job !== null) settle(job);
    startNext();
  };

  const fail = (error: Error): void =>
    finish((job) => {
      job.reject(error);
    });

  const stopWorker = (): Promise<void> | undefined => {
    const stopped = worker;
    worker = null;
    return stopped?.stop();
  };

  const lost = ({ cause, fromOutside }: ProcessEnd): void => {
    onLost(cause.message);
    void stopWorker();
    if (running === null || !fromOutside || !isRepeatable) fail(crashed(cause));
    else {
      isRepeatable = false;
      send(running);
    }
  };

  const onReply = (reply: WorkerReply): void => {
    const job = running;
    if (reply.id !== job?.message.id) return;
    if (reply.type === 'progress' || reply.type === 'first' || reply.type === 'searching') job.report(reply);
    else finish(() => settle(job, reply));
  };

  const cancel = (job: Job): void => {
    if (job !== running) {
      const place = waiting.indexOf(job);
      if (place >= 0) waiting.splice(place, 1);
      job.reject(new CancelledError());
      return;
    }
    // Should it be finished in this moment, whoever gave it up expects no plan.
    job.reject(new CancelledError());
    isRepeatable = false;
    worker?.send({ type: 'give-up', id: job.message.id });
    clearTimeout(patience);
    const stop = (): void => {
      void stopWorker();
      finish(() => undefined);
    };
    patience = setTimeout(stop, Math.min(longestTimerMs, patienceMs + (worker?.hasAnswered() === true ? 0 : startMs)));
  };

  return {
    isDisposed: () => disposed,
    add: (job) => {
      waiting.push(job);
      startNext();
    },
    cancel,
    dispose: async () => {
      disposed = true;
      clearTimeout(rest);
      for (const job of waiting.splice(0)) job.reject(new CancelledError());
      const stopping = stopWorker();
      fail(new CancelledError());
      await stopping;
    },
  };
}

/** Starts a process whose replies are unpacked and checked: what is none ends it. */
function startChecked(
  start: StartPlanner,
  { onReply, onEnd, pingMs }: Pick<ProcessOptions, 'onEnd' | 'pingMs'> & { readonly onReply: (reply: WorkerReply) => void },
): PlannerProcess {
  const unpacked = makeUnpacker();
  const checked = (message: unknown): void => {
    let reply: WorkerReply;
    try {
      const whole = isPackedPart(message) ? unpacked(message) : message;
      if (whole === null) return;
      reply = parseWorkerReply(whole);
    } catch (error) {
      void started.stop();
      onEnd({ cause: asError(error), fromOutside: false });
      return;
    }
    onReply(reply);
  };
  const started = start({ onReply: checked, onEnd, pingMs });
  return started;
}

function settle(job: Job, reply: Exclude<WorkerReply, ProgressReply>): void {
  if (reply.type === 'error') job.reject(failureToError(reply.error));
  else if (reply.type === 'cancelled') job.reject(new CancelledError());
  else job.resolve(reply);
}

function failureToError({ expected, code, message, remedy, place, stack }: WorkerFailure): Error {
  const error = expected ? new ExpectedError(code, message, remedy, place ?? undefined) : new Error(say(message));
  if (stack !== null) error.stack = stack;
  return error;
}

function crashed(cause: Error): ExpectedError {
  const isFull = 'code' in cause && cause.code === 'ERR_WORKER_OUT_OF_MEMORY';
  const error = isFull
    ? new ExpectedError(
        'out-of-memory',
        sentence`The planner needed more than ${memoryLimitMb} MB of memory`,
        sentence`use fewer micro-batches, slices or stages`,
      )
    : new ExpectedError(
        'worker-crashed',
        sentence`The planner stopped unexpectedly (${cause.message})`,
        sentence`plan again; the log has the details`,
      );
  error.cause = cause;
  return error;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
