import { CancelledError } from '../core/errors';
import type { Comparison } from '../features/compare/json';
import type { PrefillAnswer, PrefillAsked, PrefillQuestion } from '../features/prefill/core/answer';
import type { ElasticAnswer } from '../features/elastic/core/answer';
import type { ElasticRequest } from '../features/elastic/core/request';
import type { Plan } from '../core/planner/plan';
import type { PreparedRehearsal, RehearsalAsked, RehearsalRoom } from '../features/rehearsal/core/prepare';
import type { WhatIfSet } from '../core/layout-search/what-if';
import type { Remedy } from '../core/rules/plan/remedy';
import type { PlanRequest } from '../core/domain/request';
import type { SearchAsked, SearchUpdate } from '../core/layout-search/answer';
import type { SearchResult } from '../core/layout-search/result';
import type { SearchProblem } from '../core/layout-search/search-problem';
import type { ScheduleFile } from '../core/schedules/pytorch-csv/schedule-file';
import type { IncumbentTimes } from '../core/slicing/solve';
import type { Against, ResolveAsked, WorkerRequest } from '../protocol/worker';
import { openJobQueue, type Answer, type Job, type JobQueue, type JobQueueOptions, type ProgressReply } from './job-queue';

interface PlanJobOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with growing fractions, 0..1. */
  readonly onProgress?: ((fraction: number) => void) | undefined;
  /** Called with the best slices so far while they are solved for. */
  readonly onIncumbent?: ((incumbent: IncumbentTimes) => void) | undefined;
  /** Called with the plan of the schedule that is asked for, before it is compared with others. */
  readonly onFirst?: ((plan: Plan) => void) | undefined;
}

interface SearchJobOptions extends Partial<SearchAsked> {
  readonly signal?: AbortSignal | undefined;
  /**
   * Called with how far it is: whenever a better layout is found, with the result before improvements are searched for, and with each of
   * those.
   */
  readonly onUpdate?: ((update: SearchUpdate) => void) | undefined;
}

export interface PlannerClient {
  /** `resolveRun` there, since it looks for a layout where the files leave it open. */
  readonly resolve: (asked: ResolveAsked, options?: Pick<PlanJobOptions, 'signal'>) => Promise<PlanRequest>;
  /**
   * The smallest changes with which a run fits whose plan does not, as `findRemedies`: it plans several times, so it wants a client of its
   * own where plans are waited for.
   */
  readonly remedies: (asked: ResolveAsked, plan: Plan, options?: Pick<PlanJobOptions, 'signal'>) => Promise<readonly Remedy[]>;
  /** The plan of a run with other sizes, without timelines. */
  readonly whatIf: (asked: ResolveAsked, sets: readonly WhatIfSet[], options?: Pick<PlanJobOptions, 'signal'>) => Promise<Plan>;
  /**
   * Plans in the worker's process; requests wait for each other in order. Rejects with CancelledError (within 200 ms of the signal, also
   * when the client is disposed), with the ExpectedError of the planner, with ExpectedError `worker-crashed` when it stopped (the next
   * request gets a fresh one), or with the planner's own error, its stack kept, for a bug.
   */
  readonly plan: (request: PlanRequest, options?: PlanJobOptions) => Promise<Plan>;
  /** The same for a run that freezes layers. */
  readonly planElastic: (request: ElasticRequest, options?: PlanJobOptions) => Promise<ElasticAnswer>;
  /** How a config's model is best served a prompt: `answerPrefill`. */
  readonly prefill: (question: PrefillQuestion, asked: PrefillAsked, options?: Pick<PlanJobOptions, 'signal'>) => Promise<PrefillAnswer>;
  /**
   * The same for a search of layouts: without GPU hours and improvements unless asked for. It takes seconds, so it wants a client of its
   * own where plans are waited for.
   */
  readonly search: (problem: SearchProblem, options?: SearchJobOptions) => Promise<SearchResult>;
  /**
   * Compares a plan with another one or with a measured run, whose file is read there and kept until another is asked for. Progress is that
   * of reading. A run takes seconds to read, so it wants a client of its own.
   */
  readonly compare: (plan: Plan, against: Against, options?: Omit<PlanJobOptions, 'onIncumbent'>) => Promise<Comparison>;
  /** What a rehearsal of a plan would run: `preparedRehearsal`. */
  readonly prepareRehearsal: (plan: Plan, asked: RehearsalAsked, room: RehearsalRoom) => Promise<PreparedRehearsal>;
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

/** A planner in a process of its own that starts with the first request. While it plans it keeps ours alive, idle it does not. */
export function createPlannerClient(workerFile: string, options?: JobQueueOptions): PlannerClient {
  const queue = openJobQueue(workerFile, options);
  const ask: Ask = (message, signal, tell) => answerTo(queue, message, signal, tell);
  let lastId = 0;
  return {
    resolve: async ({ run, defaults, found }, { signal } = {}) =>
      (await ask<'resolve'>({ type: 'resolve', id: ++lastId, run, defaults, found }, signal, () => undefined)).request,
    remedies: async ({ run, defaults, found }, plan, { signal } = {}) => {
      const message = { type: 'remedies' as const, id: ++lastId, run, defaults, found, plan: withoutTimelines(plan) };
      return (await ask<'remedies'>(message, signal, () => undefined)).remedies;
    },
    whatIf: async ({ run, defaults, found }, sets, { signal } = {}) =>
      (await ask<'whatIf'>({ type: 'whatIf', id: ++lastId, run, defaults, found, sets }, signal, () => undefined)).plan,
    plan: async (request, options = {}) =>
      (
        await ask<'plan'>(
          { type: 'plan', id: ++lastId, request, first: options.onFirst !== undefined },
          options.signal,
          planTeller(options),
        )
      ).plan,
    planElastic: async (request, options = {}) =>
      (await ask<'elastic'>({ type: 'elastic', id: ++lastId, request }, options.signal, planTeller(options))).answer,
    prefill: async ({ run, defaults, found, model }, asked, { signal } = {}) =>
      (await ask<'prefill'>({ type: 'prefill', id: ++lastId, run, defaults, found, model, asked }, signal, () => undefined)).answer,
    search: async (problem, { signal, onUpdate, tokenBudget = null, improvements = false } = {}) => {
      const message = { type: 'search' as const, id: ++lastId, problem, tokenBudget, improvements };
      const tell = (reply: ProgressReply): void => {
        if (reply.type === 'searching') onUpdate?.(reply.update);
      };
      return (await ask<'search'>(message, signal, tell)).result;
    },
    compare: async (plan, against, options = {}) => {
      const bare = against.kind === 'plan';
      const asked = bare ? { ...against, plan: withoutTimelines(against.plan) } : against;
      const message = { type: 'compare' as const, id: ++lastId, plan: bare ? withoutTimelines(plan) : plan, against: asked };
      return (await ask<'compare'>(message, options.signal, planTeller(options))).comparison;
    },
    prepareRehearsal: async (plan, asked, room) => {
      const message = { type: 'rehearsal' as const, id: ++lastId, plan: withChosenTimeline(plan), asked, room };
      return (await ask<'rehearsal'>(message, undefined, () => undefined)).prepared;
    },
    readSchedule: async (text, file, name, { signal } = {}) =>
      (await ask<'schedule'>({ type: 'schedule', id: ++lastId, text, file, name }, signal, () => undefined)).schedule,
    dispose: () => queue.dispose(),
  };
}

type Ask = <T extends WorkerRequest['type']>(
  message: Extract<WorkerRequest, { readonly type: T }>,
  signal: AbortSignal | undefined,
  tell: Job['tell'],
) => Promise<Extract<Answer, { readonly type: T }>>;

function answerTo<T extends WorkerRequest['type']>(
  queue: JobQueue,
  message: Extract<WorkerRequest, { readonly type: T }>,
  signal: AbortSignal | undefined,
  tell: Job['tell'],
): Promise<Extract<Answer, { readonly type: T }>> {
  return new Promise((resolve, reject) => {
    if (queue.isDisposed() || signal?.aborted === true) {
      reject(new CancelledError());
      return;
    }
    const onAbort = (): void => {
      queue.cancel(job);
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
    queue.add(job);
  });
}

/** What is compared or judged by its figures: timelines would only be copied. */
function withoutTimelines(plan: Plan): Plan {
  return { ...plan, candidates: plan.candidates.map((candidate) => ({ ...candidate, timeline: null })) };
}

/** Only the chosen candidate's order is run. */
function withChosenTimeline(plan: Plan): Plan {
  const candidates = plan.candidates.map((candidate) => (candidate.id === plan.chosen ? candidate : { ...candidate, timeline: null }));
  return { ...plan, candidates };
}

function planTeller({ onProgress, onIncumbent, onFirst }: PlanJobOptions): Job['tell'] {
  return (reply) => {
    if (reply.type === 'first') onFirst?.(reply.plan);
    if (reply.type !== 'progress') return;
    if (reply.incumbent === null) onProgress?.(reply.fraction);
    else onIncumbent?.(reply.incumbent);
  };
}

function isOf<T extends Answer['type']>(type: T, answer: Answer): answer is Extract<Answer, { readonly type: T }> {
  return answer.type === type;
}
