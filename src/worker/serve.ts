import type { MessagePort } from 'node:worker_threads';
import { CancelledError, ExpectedError, type CancelSignal } from '../core/errors';
import type { PrefillAnswer, PrefillAsked, PrefillQuestion } from '../features/prefill/core/answer';
import type { ElasticAnswer } from '../features/elastic/core/answer';
import type { ElasticRequest } from '../features/elastic/core/request';
import type { Plan } from '../core/planner/plan';
import type { preparedRehearsal } from '../features/rehearsal/core/prepare';
import type { WhatIfSet } from '../core/layout-search/what-if';
import type { Remedy } from '../core/rules/plan/remedy';
import type { PlanRequest } from '../core/domain/request';
import type { answerSearch, SearchUpdate } from '../core/layout-search/answer';
import type { IncumbentTimes } from '../core/slicing/solve';
import type { readScheduleFile } from '../core/schedules/pytorch-csv/schedule-file';
import type { Compare } from '../features/compare/worker/compare';
import { packedParts, transferOf } from '../protocol/packed';
import {
  parseWorkerData,
  parseWorkerRequest,
  type ResolveAsked,
  type WorkerFailure,
  type WorkerReply,
  type WorkerRequest,
} from '../protocol/worker';
import { sentence } from '../core/sentence';

interface PlannerOptions {
  readonly signal: CancelSignal;
  readonly onProgress: (fraction: number) => void;
  readonly onIncumbent: (incumbent: IncumbentTimes) => void;
  /** Absent where nobody wants it. */
  readonly onFirst?: (plan: Plan) => void;
}

/** Progress by less than this is not told, nor are the best slices so soon after the last: each goes through three threads. */
const reportedStep = 0.05;
const slicesEveryMs = 25;

/** Planners, one a kind of request, that look at their signal often. Only what waits for a disk is asynchronous. */
interface Planners {
  readonly plan: (request: PlanRequest, options: PlannerOptions) => Plan;
  readonly resolve: (asked: ResolveAsked, signal: CancelSignal) => PlanRequest;
  readonly whatIf: (asked: ResolveAsked, sets: readonly WhatIfSet[], signal: CancelSignal) => Plan;
  readonly remedies: (asked: ResolveAsked, plan: Plan, signal: CancelSignal) => readonly Remedy[];
  readonly prefill: (question: PrefillQuestion, asked: PrefillAsked, signal: CancelSignal) => PrefillAnswer;
  readonly elastic: (request: ElasticRequest, options: PlannerOptions) => ElasticAnswer;
  readonly search: typeof answerSearch;
  readonly compare: Compare;
  readonly rehearsal: typeof preparedRehearsal;
  readonly schedule: typeof readScheduleFile;
}

/**
 * Answers requests on `port` with `planners`, one after the other. Answers are packed, and what is large travels in pieces.
 * @throws ValiError when `data` is not `WorkerData`.
 */
export function servePlanner(port: Pick<MessagePort, 'on' | 'postMessage'>, data: unknown, planners: Planners): void {
  const cancelFlag = new Int32Array(parseWorkerData(data).cancelFlag);
  const reply = (message: WorkerReply): void => port.postMessage(message);
  const answered = (answer: WorkerReply): void => {
    for (const part of packedParts(answer)) port.postMessage(part, [transferOf(part)]);
  };
  port.on('message', (message: unknown) => {
    const request = parseWorkerRequest(message);
    const { id } = request;
    const signal: CancelSignal = {
      get aborted() {
        return Atomics.load(cancelFlag, 0) === id;
      },
    };
    void answerTo(request, planners, signal, { reply, answered })
      .then(answered)
      .catch((error: unknown) =>
        reply(error instanceof CancelledError ? { type: 'cancelled', id } : { type: 'error', id, error: failureOf(error) }),
      );
  });
}

/** The last reply to a request. */
async function answerTo(
  request: WorkerRequest,
  planners: Planners,
  signal: CancelSignal,
  { reply, answered }: { readonly reply: (message: WorkerReply) => void; readonly answered: (answer: WorkerReply) => void },
): Promise<WorkerReply> {
  const { id } = request;
  let reached = 0;
  let told = -Infinity;
  let slicesMs = -Infinity;
  const options: PlannerOptions = {
    signal,
    onProgress: (fraction) => {
      reached = Math.min(1, Math.max(0, fraction));
      if (reached < told + reportedStep) return;
      told = reached;
      reply({ type: 'progress', id, fraction: reached, incumbent: null });
    },
    onIncumbent: ({ latencyMs, lowerBoundMs }) => {
      const now = performance.now();
      if (now < slicesMs + slicesEveryMs) return;
      slicesMs = now;
      reply({ type: 'progress', id, fraction: reached, incumbent: { latencyMs, lowerBoundMs } });
    },
  };
  switch (request.type) {
    case 'plan': {
      const onFirst = (first: Plan): void => answered({ type: 'first', id, plan: first });
      return { type: 'plan', id, plan: planners.plan(request.request, request.first ? { ...options, onFirst } : options) };
    }
    case 'prefill':
      return { type: 'prefill', id, answer: planners.prefill(request, request.asked, signal) };
    case 'resolve':
      return { type: 'resolve', id, request: planners.resolve(request, signal) };
    case 'whatIf':
      return { type: 'whatIf', id, plan: planners.whatIf(request, request.sets, signal) };
    case 'remedies':
      return { type: 'remedies', id, remedies: planners.remedies(request, request.plan, signal) };
    case 'elastic':
      return { type: 'elastic', id, answer: planners.elastic(request.request, options) };
    case 'search': {
      const { problem, tokenBudget, improvements } = request;
      const onUpdate = (update: SearchUpdate): void => reply({ type: 'searching', id, update });
      return { type: 'search', id, result: planners.search(problem, { tokenBudget, improvements }, { signal, onUpdate }) };
    }
    case 'compare':
      return { type: 'compare', id, comparison: await planners.compare(request.plan, request.against, options) };
    case 'rehearsal':
      return { type: 'rehearsal', id, prepared: planners.rehearsal(request.plan, request.asked, request.room) };
    case 'schedule':
      return { type: 'schedule', id, schedule: planners.schedule(request.text, request.file, request.name) };
  }
}

function failureOf(error: unknown): WorkerFailure {
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
