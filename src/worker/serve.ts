import { CancelledError, ExpectedError, type CancelSignal } from '../core/errors';
import type { Plan } from '../core/planner/plan';
import type { SearchUpdate } from '../core/layout-search/answer';
import type { IncumbentTimes } from '../core/slicing/solve';
import { packedParts, transferredBuffer } from '../protocol/packed';
import {
  parseWorkerRequest,
  type AnswerTo,
  type JobType,
  type JobRequest,
  type WorkerFailure,
  type WorkerReply,
  type WorkerRequest,
} from '../protocol/worker';
import { sentence } from '../core/sentence';

/** What cancels a planner, and who receives its progress. */
interface PlannerOptions {
  readonly signal: CancelSignal;
  readonly onProgress: (fraction: number) => void;
  readonly onIncumbent: (incumbent: IncumbentTimes) => void;
  readonly onFirst: (plan: Plan) => void;
  readonly onUpdate: (update: SearchUpdate) => void;
}

/** Progress by less than this is not reported, nor are the best slices so soon after the last: each goes through three threads. */
const reportedStep = 0.05;
const slicesEveryMs = 25;

/** Planners, one for each kind of request, that look at their signal often. Only what waits for a disk is asynchronous. */
export type Planners = {
  readonly [T in JobType]: (asked: JobRequest<T>, options: PlannerOptions) => AnswerTo<T> | Promise<AnswerTo<T>>;
};

/** The thread's end of the channel to who asks. */
interface PlannerPort {
  readonly onMessage: (listener: (message: unknown) => void) => void;
  readonly post: (message: unknown, moved?: readonly ArrayBuffer[]) => void;
}

/**
 * Answers requests on `port` with `planners`, one after the other. Answers are packed, and what is large travels in pieces.
 * @param isGivenUp whether a request, by its id, was cancelled. @param planners others are not asked for here.
 */
export function servePlanner(port: PlannerPort, isGivenUp: (id: number) => boolean, planners: Partial<Planners>): void {
  const reply = (message: WorkerReply): void => port.post(message);
  const answered = (answer: WorkerReply): void => {
    for (const part of packedParts(answer)) port.post(part, [transferredBuffer(part)]);
  };
  port.onMessage((message) => {
    const request = parseWorkerRequest(message);
    const { id } = request;
    const signal: CancelSignal = {
      get aborted() {
        return isGivenUp(id);
      },
    };
    void answerTo(request, planners, signal, { reply, answered })
      .then(answered)
      .catch((error: unknown) =>
        reply(error instanceof CancelledError ? { type: 'cancelled', id } : { type: 'error', id, error: toWorkerFailure(error) }),
      );
  });
}

/** The last reply to a request. */
async function answerTo(
  request: WorkerRequest,
  planners: Partial<Planners>,
  signal: CancelSignal,
  { reply, answered }: { readonly reply: (message: WorkerReply) => void; readonly answered: (answer: WorkerReply) => void },
): Promise<WorkerReply> {
  const { id } = request;
  let reached = 0;
  let reported = -Infinity;
  let slicesMs = -Infinity;
  const options: PlannerOptions = {
    signal,
    onProgress: (fraction) => {
      reached = Math.min(1, Math.max(0, fraction));
      if (reached < reported + reportedStep) return;
      reported = reached;
      reply({ type: 'progress', id, fraction: reached, incumbent: null });
    },
    onIncumbent: ({ latencyMs, lowerBoundMs }) => {
      const now = performance.now();
      if (now < slicesMs + slicesEveryMs) return;
      slicesMs = now;
      reply({ type: 'progress', id, fraction: reached, incumbent: { latencyMs, lowerBoundMs } });
    },
    onFirst: (plan) => answered({ type: 'first', id, plan }),
    onUpdate: (update) => reply({ type: 'searching', id, update }),
  };
  const planner = planners[request.type] as ((asked: WorkerRequest, options: PlannerOptions) => unknown) | undefined;
  if (planner === undefined) throw new Error(`this planner answers no ${request.type} request`);
  return { type: 'answer', id, job: request.type, answer: await planner(request, options) };
}

function toWorkerFailure(error: unknown): WorkerFailure {
  if (error instanceof ExpectedError)
    return {
      expected: true,
      code: error.code,
      message: error.what,
      remedy: error.remedy,
      place: error.place ?? null,
      stack: error.stack ?? null,
    };
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { expected: false, code: 'internal', message: sentence`${message}`, remedy: sentence``, place: null, stack: stack ?? null };
}
