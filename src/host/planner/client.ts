import { CancelledError } from '../../core/errors';
import type { Comparison } from '../../features/compare/json';
import type { ElasticAnswer } from '../../features/elastic/core/answer';
import type { ElasticRequest } from '../../features/elastic/core/request';
import type { Plan } from '../../core/planner/plan';
import type { PreparedRehearsal, RehearsalSettings, RehearsalRoom } from '../../features/rehearsal/core/prepare';
import type { WhatIfSet } from '../../core/layout-search/what-if';
import type { Remedy } from '../../core/rules/plan/remedy';
import type { PlanRequest } from '../../core/domain/request';
import type { SearchExtras, SearchUpdate } from '../../core/layout-search/answer';
import type { SearchResult } from '../../core/layout-search/result';
import type { SearchProblem } from '../../core/layout-search/search-problem';
import type { ScheduleFile } from '../../core/schedules/pytorch-csv/schedule-file';
import type { IncumbentTimes } from '../../core/slicing/solve';
import type { ResolveMessage } from '../../protocol/thread-values';
import type { AnswerTo, JobInput, JobRequest, JobType, WorkerRequest } from '../../protocol/worker';
import type { Against } from '../../features/compare/job';
import { openJobQueue, type Job, type JobQueue, type JobQueueOptions } from './job-queue';
import type { StartPlanner } from './process';

interface PlanJobOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with growing fractions, 0..1; from the start again where another process takes over. */
  readonly onProgress?: ((fraction: number) => void) | undefined;
  /** Called with the best slices so far while they are solved for. */
  readonly onIncumbent?: ((incumbent: IncumbentTimes) => void) | undefined;
  /** Called with the plan of the schedule that is asked for, before it is compared with others. */
  readonly onFirst?: ((plan: Plan) => void) | undefined;
}

interface SearchJobOptions extends Partial<SearchExtras> {
  readonly signal?: AbortSignal | undefined;
  /**
   * Called with how far it is: whenever a better layout is found, with the result before improvements are searched for, and with each of
   * those.
   */
  readonly onUpdate?: ((update: SearchUpdate) => void) | undefined;
}

export interface PlannerClient {
  /** Asks for any job; the others are shorter ways to ask. It fails as `plan` does. */
  readonly ask: <T extends JobType>(
    type: T,
    asked: JobInput<T>,
    options?: { readonly signal?: AbortSignal | undefined; readonly report?: Job['report'] },
  ) => Promise<AnswerTo<T>>;
  /** `resolveRun` there, since it looks for a layout where the files leave it open. */
  readonly resolve: (asked: ResolveMessage, options?: Pick<PlanJobOptions, 'signal'>) => Promise<PlanRequest>;
  /**
   * The smallest changes with which a run fits whose plan does not, as `findRemedies`: it plans several times, so it wants a client of its
   * own where plans are waited for.
   */
  readonly remedies: (asked: ResolveMessage, plan: Plan, options?: Pick<PlanJobOptions, 'signal'>) => Promise<readonly Remedy[]>;
  /** The plan of a run with other sizes, without timelines. */
  readonly whatIf: (asked: ResolveMessage, sets: readonly WhatIfSet[], options?: Pick<PlanJobOptions, 'signal'>) => Promise<Plan>;
  /**
   * Plans in the worker's process; requests wait for each other in order. Rejects with CancelledError (within 200 ms of the signal, also
   * when the client is disposed), with the ExpectedError of the planner, with ExpectedError `worker-crashed` when it stopped (killed or
   * hung, only when that happened to a second one; the next request gets a fresh one), or with the planner's own error, its stack kept, for
   * a bug.
   */
  readonly plan: (request: PlanRequest, options?: PlanJobOptions) => Promise<Plan>;
  /** The same for a run that freezes layers. */
  readonly planElastic: (request: ElasticRequest, options?: PlanJobOptions) => Promise<ElasticAnswer>;
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
  readonly prepareRehearsal: (plan: Plan, asked: RehearsalSettings, room: RehearsalRoom) => Promise<PreparedRehearsal>;
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
export function createPlannerClient(start: StartPlanner, options?: JobQueueOptions): PlannerClient {
  const queue = openJobQueue(start, options);
  let lastId = 0;
  const ask: PlannerClient['ask'] = (type, asked, { signal, report = () => undefined } = {}) =>
    answerTo(queue, { type, id: ++lastId, ...asked }, signal, report);
  return {
    ask,
    resolve: (asked, options) => ask('resolve', asked, options),
    remedies: (asked, plan, options) => ask('remedies', { ...asked, plan: withoutTimelines(plan) }, options),
    whatIf: (asked, sets, options) => ask('whatIf', { ...asked, sets: [...sets] }, options),
    plan: (request, options = {}) =>
      ask('plan', { request, first: options.onFirst !== undefined }, { signal: options.signal, report: planReporter(options) }),
    planElastic: (request, options = {}) => ask('elastic', { request }, { signal: options.signal, report: planReporter(options) }),
    search: (problem, { signal, onUpdate, improvements = false } = {}) =>
      ask(
        'search',
        { problem, improvements },
        {
          signal,
          report: (reply) => {
            if (reply.type === 'searching') onUpdate?.(reply.update);
          },
        },
      ),
    compare: (plan, against, options = {}) => {
      const bare = against.kind === 'plan';
      const asked = bare ? { ...against, plan: withoutTimelines(against.plan) } : against;
      return ask(
        'compare',
        { plan: bare ? withoutTimelines(plan) : plan, against: asked },
        { signal: options.signal, report: planReporter(options) },
      );
    },
    prepareRehearsal: (plan, asked, room) => ask('rehearsal', { plan: withChosenTimeline(plan), asked, room }),
    readSchedule: (text, file, name, options) => ask('schedule', { text, file, name }, options),
    dispose: () => queue.dispose(),
  };
}

function answerTo<T extends JobType>(
  queue: JobQueue,
  message: JobRequest<T>,
  signal: AbortSignal | undefined,
  report: Job['report'],
): Promise<AnswerTo<T>> {
  return new Promise((resolve, reject) => {
    if (queue.isDisposed() || signal?.aborted === true) {
      reject(new CancelledError());
      return;
    }
    const onAbort = (): void => {
      queue.cancel(job);
    };
    const job: Job = {
      message: message as WorkerRequest,
      report,
      resolve: ({ job: answered, answer }) => {
        signal?.removeEventListener('abort', onAbort);
        if (answered === message.type) resolve(answer as AnswerTo<T>);
        else reject(new Error(`the planner answered a ${message.type} request with a ${answered}`));
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

function planReporter({ onProgress, onIncumbent, onFirst }: PlanJobOptions): Job['report'] {
  return (reply) => {
    if (reply.type === 'first') onFirst?.(reply.plan);
    if (reply.type !== 'progress') return;
    if (reply.incumbent === null) onProgress?.(reply.fraction);
    else onIncumbent?.(reply.incumbent);
  };
}
