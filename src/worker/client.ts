import { CancelledError, ExpectedError } from '../core/errors';
import type { Comparison } from '../core/export/comparison-json';
import type { ElasticAnswer } from '../core/elastic/answer';
import type { ElasticRequest } from '../core/elastic/request';
import type { Plan } from '../core/planner/plan';
import type { Remedy } from '../core/rules/plan/remedies';
import type { PlanRequest } from '../core/spec/request';
import type { SearchAsked, SearchStanding } from '../core/layout-search/answer';
import type { SearchResult } from '../core/layout-search/result';
import type { SearchProblem } from '../core/layout-search/search-problem';
import type { ScheduleFile } from '../core/schedules/pytorch-csv/schedule-file';
import type { StandingTimes } from '../core/slicing/solve';
import { isPackedPart, makeUnpacker } from '../protocol/packed';
import {
  parseWorkerReply,
  type Against,
  type ResolveAsked,
  type WorkerFailure,
  type WorkerReply,
  type WorkerRequest,
} from '../protocol/worker';
import { memoryLimitMb, startPlannerProcess, type PlannerProcess } from './process';

export interface PlanJobOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with growing fractions, 0..1. */
  readonly onProgress?: ((fraction: number) => void) | undefined;
  /** Called with the best slices so far while they are solved for. */
  readonly onStanding?: ((standing: StandingTimes) => void) | undefined;
}

export interface SearchJobOptions extends Partial<SearchAsked> {
  readonly signal?: AbortSignal | undefined;
  /** Called with how far it is: whenever a better layout is found, with the result before improvements are searched for, and with each of those. */
  readonly onStanding?: ((standing: SearchStanding) => void) | undefined;
}

export interface PlannerClient {
  /** `resolveRun` there, since it looks for a layout where the files leave it open. */
  readonly resolve: (asked: ResolveAsked, options?: Pick<PlanJobOptions, 'signal'>) => Promise<PlanRequest>;
  /** The smallest changes with which a run fits whose plan does not, as `findRemedies`: it plans several times, so it wants a client of its own where plans are waited for. */
  readonly remedies: (asked: ResolveAsked, plan: Plan, options?: Pick<PlanJobOptions, 'signal'>) => Promise<readonly Remedy[]>;
  /**
   * Plans in the worker's process; requests wait for each other in order.
   * Rejects with CancelledError (within 200 ms of the signal, also when the client is disposed), with the ExpectedError of the planner, with ExpectedError
   * `worker-crashed` when it stopped (the next request gets a fresh one), or with the planner's own error, its stack kept, for a bug.
   */
  readonly plan: (request: PlanRequest, options?: PlanJobOptions) => Promise<Plan>;
  /** The same for a run that freezes layers. */
  readonly planElastic: (request: ElasticRequest, options?: PlanJobOptions) => Promise<ElasticAnswer>;
  /** The same for a search of layouts: without GPU hours and improvements unless asked for. It takes seconds, so it wants a client of its own where plans are waited for. */
  readonly search: (problem: SearchProblem, options?: SearchJobOptions) => Promise<SearchResult>;
  /** Compares a plan with another one or with a measured run, whose file is read there and kept until another is asked for. Progress is that of reading. A run takes seconds to read, so it wants a client of its own. */
  readonly compare: (plan: Plan, against: Against, options?: Omit<PlanJobOptions, 'onStanding'>) => Promise<Comparison>;
  /** Reads, checks and draws a schedule in PyTorch's CSV: `readScheduleFile`. */
  readonly readSchedule: (
    text: string,
    file: string,
    name: string,
    options?: { readonly signal?: AbortSignal | undefined },
  ) => Promise<ScheduleFile>;
  /** Stops the process and cancels what is left. */
  readonly dispose: () => Promise<void>;
}

/** The reply that ends a job well. */
type Answer = Extract<WorkerReply, { readonly type: WorkerRequest['type'] }>;

/** A reply before that. */
type Told = Extract<WorkerReply, { readonly type: 'progress' | 'searching' }>;

interface Job {
  readonly message: WorkerRequest;
  readonly tell: (told: Told) => void;
  /** Settles the promise and lets go of the signal. */
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

export interface PlannerClientOptions {
  /** How long a cancelled planner may take to notice before its process is stopped, ms. */
  readonly patienceMs?: number;
  /** Without a request for so long the process is stopped, ms: what it takes of memory is given back. */
  readonly restMs?: number;
}

/** What a process may take to start, ms: one that is about to answer is not replaced. */
const startMs = 5_000;
const longestTimerMs = 2 ** 31 - 1;

/** A planner in a process of its own that starts with the first request. While it plans it keeps ours alive, idle it does not. */
export function createPlannerClient(workerFile: string, options: PlannerClientOptions = {}): PlannerClient {
  const { patienceMs = 120, restMs = 60_000 } = options;
  const waiting: Job[] = [];
  let running: Job | null = null;
  let worker: PlannerProcess | null = null;
  let unpacked = makeUnpacker();
  let patience: NodeJS.Timeout | undefined;
  let rest: NodeJS.Timeout | undefined;
  let lastId = 0;
  let disposed = false;

  const startNext = (): void => {
    if (running !== null) return;
    const job = waiting.shift();
    if (job === undefined) {
      worker?.hold(false);
      clearTimeout(rest);
      if (!disposed) rest = setTimeout(() => void stopWorker(), restMs).unref();
      return;
    }
    running = job;
    clearTimeout(rest);
    try {
      worker ??= startPlannerProcess(workerFile, { onReply, onEnd: crash });
      worker.hold(true);
      worker.send(job.message);
    } catch (error) {
      finish((failed) => {
        failed.reject(asError(error));
      });
    }
  };

  const finish = (settle: (job: Job) => void): void => {
    clearTimeout(patience);
    const job = running;
    running = null;
    if (job !== null) settle(job);
    startNext();
  };

  const stopWorker = (): Promise<void> | undefined => {
    const stopped = worker;
    worker = null;
    unpacked = makeUnpacker();
    return stopped?.stop();
  };

  const crash = (cause: Error): void => {
    void stopWorker();
    finish((job) => {
      job.reject(crashed(cause));
    });
  };

  const onReply = (message: unknown): void => {
    let reply: WorkerReply;
    try {
      const whole = isPackedPart(message) ? unpacked(message) : message;
      if (whole === null) return;
      reply = parseWorkerReply(whole);
    } catch (error) {
      crash(asError(error));
      return;
    }
    const job = running;
    if (reply.id !== job?.message.id) return;
    switch (reply.type) {
      case 'progress':
      case 'searching':
        job.tell(reply);
        return;
      case 'plan':
      case 'resolve':
      case 'remedies':
      case 'elastic':
      case 'search':
      case 'compare':
      case 'schedule':
        finish(() => job.resolve(reply));
        return;
      case 'cancelled':
        finish(() => {
          job.reject(new CancelledError());
        });
        return;
      case 'error': {
        const error = failureToError(reply.error);
        finish(() => {
          job.reject(error);
        });
      }
    }
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
    worker?.send({ type: 'give-up', id: job.message.id });
    clearTimeout(patience);
    const stop = (): void => {
      void stopWorker();
      finish(() => undefined);
    };
    patience = setTimeout(stop, Math.min(longestTimerMs, patienceMs + (worker?.hasAnswered() === true ? 0 : startMs)));
  };

  const ask = <T extends WorkerRequest['type']>(
    message: Extract<WorkerRequest, { readonly type: T }>,
    signal: AbortSignal | undefined,
    tell: Job['tell'],
  ): Promise<Extract<Answer, { readonly type: T }>> =>
    new Promise((resolve, reject) => {
      if (disposed || signal?.aborted === true) {
        reject(new CancelledError());
        return;
      }
      const onAbort = (): void => {
        cancel(job);
      };
      const job: Job = {
        message,
        tell,
        resolve: (answer) => {
          signal?.removeEventListener('abort', onAbort);
          if (isOf(message.type, answer)) resolve(answer);
          else reject(new Error(`the planner answered a ${message.type} request with a ${answer.type}`));
        },
        reject: (error) => {
          signal?.removeEventListener('abort', onAbort);
          reject(error);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      waiting.push(job);
      startNext();
    });

  return {
    resolve: async ({ run, defaults, found }, { signal } = {}) =>
      (await ask<'resolve'>({ type: 'resolve', id: ++lastId, run, defaults, found }, signal, () => undefined)).request,
    remedies: async ({ run, defaults, found }, plan, { signal } = {}) => {
      const message = { type: 'remedies' as const, id: ++lastId, run, defaults, found, plan: withoutTimelines(plan) };
      return (await ask<'remedies'>(message, signal, () => undefined)).remedies;
    },
    plan: async (request, options = {}) =>
      (await ask<'plan'>({ type: 'plan', id: ++lastId, request }, options.signal, planTeller(options))).plan,
    planElastic: async (request, options = {}) =>
      (await ask<'elastic'>({ type: 'elastic', id: ++lastId, request }, options.signal, planTeller(options))).answer,
    search: async (problem, { signal, onStanding, tokenBudget = null, improvements = false } = {}) => {
      const message = { type: 'search' as const, id: ++lastId, problem, tokenBudget, improvements };
      const tell = (told: Told): void => {
        if (told.type === 'searching') onStanding?.(told.standing);
      };
      return (await ask<'search'>(message, signal, tell)).result;
    },
    compare: async (plan, against, options = {}) => {
      const bare = against.kind === 'plan';
      const asked = bare ? { ...against, plan: withoutTimelines(against.plan) } : against;
      const message = { type: 'compare' as const, id: ++lastId, plan: bare ? withoutTimelines(plan) : plan, against: asked };
      return (await ask<'compare'>(message, options.signal, planTeller(options))).comparison;
    },
    readSchedule: async (text, file, name, { signal } = {}) =>
      (await ask<'schedule'>({ type: 'schedule', id: ++lastId, text, file, name }, signal, () => undefined)).schedule,
    dispose: async () => {
      disposed = true;
      clearTimeout(rest);
      for (const job of waiting.splice(0)) job.reject(new CancelledError());
      const stopping = stopWorker();
      finish((job) => {
        job.reject(new CancelledError());
      });
      await stopping;
    },
  };
}

/** What is compared or judged by its figures: timelines would only be copied. */
function withoutTimelines(plan: Plan): Plan {
  return { ...plan, candidates: plan.candidates.map((candidate) => ({ ...candidate, timeline: null })) };
}

function planTeller({ onProgress, onStanding }: PlanJobOptions): Job['tell'] {
  return (told) => {
    if (told.type !== 'progress') return;
    if (told.standing === null) onProgress?.(told.fraction);
    else onStanding?.(told.standing);
  };
}

function isOf<T extends Answer['type']>(type: T, answer: Answer): answer is Extract<Answer, { readonly type: T }> {
  return answer.type === type;
}

function failureToError({ expected, code, message, remedy, place, stack }: WorkerFailure): Error {
  const error = expected ? new ExpectedError(code, message, remedy, place ?? undefined) : new Error(message);
  if (stack !== null) error.stack = stack;
  return error;
}

function crashed(cause: Error): ExpectedError {
  const isFull = 'code' in cause && cause.code === 'ERR_WORKER_OUT_OF_MEMORY';
  const error = isFull
    ? new ExpectedError(
        'out-of-memory',
        `The planner needed more than ${memoryLimitMb} MB of memory`,
        'use fewer micro-batches, slices or stages',
      )
    : new ExpectedError('worker-crashed', `The planner stopped unexpectedly (${cause.message})`, 'plan again; the log has the details');
  error.cause = cause;
  return error;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
