import type { MessagePort } from 'node:worker_threads';
import { CancelledError, ExpectedError, type CancelSignal } from '../core/errors';
import type { Plan } from '../core/planner/plan';
import type { PlanRequest } from '../core/planner/request';
import type { StandingTimes } from '../core/solver/solve';
import { parseWorkerData, parseWorkerRequest, type WorkerFailure, type WorkerReply } from '../protocol/worker';

/** A synchronous planner that looks at its signal often. */
export type Planner = (
  request: PlanRequest,
  options: {
    readonly signal: CancelSignal;
    readonly onProgress: (fraction: number) => void;
    readonly onStanding: (standing: StandingTimes) => void;
  },
) => Plan;

/**
 * Answers plan requests on `port` with `planner`, one after the other. Typed arrays of the plan are moved, not copied.
 * @throws ValiError when `data` is not `WorkerData`.
 */
export function servePlanner(port: Pick<MessagePort, 'on' | 'postMessage'>, data: unknown, planner: Planner): void {
  const cancelFlag = new Int32Array(parseWorkerData(data).cancelFlag);
  port.on('message', (message: unknown) => {
    const { id, request } = parseWorkerRequest(message);
    const reply = (answer: WorkerReply, transfer: ArrayBuffer[] = []): void => {
      port.postMessage(answer, transfer);
    };
    const signal: CancelSignal = {
      get aborted() {
        return Atomics.load(cancelFlag, 0) === id;
      },
    };
    let reached = 0;
    try {
      const plan = planner(request, {
        signal,
        onProgress: (fraction) => {
          reached = Math.min(1, Math.max(0, fraction));
          reply({ type: 'progress', id, fraction: reached, standing: null });
        },
        onStanding: ({ latencyMs, lowerBoundMs }) => {
          reply({ type: 'progress', id, fraction: reached, standing: { latencyMs, lowerBoundMs } });
        },
      });
      reply({ type: 'plan', id, plan }, buffersIn(plan));
    } catch (error) {
      reply(error instanceof CancelledError ? { type: 'cancelled', id } : { type: 'error', id, error: failureOf(error) });
    }
  });
}

function failureOf(error: unknown): WorkerFailure {
  if (error instanceof ExpectedError)
    return { expected: true, code: error.code, message: error.message, remedy: error.remedy, stack: error.stack ?? null };
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { expected: false, code: 'internal', message, remedy: '', stack: stack ?? null };
}

/** The distinct buffers under all typed arrays of a tree of plain data. */
function buffersIn(value: unknown): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    if (ArrayBuffer.isView(node)) {
      if (node.buffer instanceof ArrayBuffer) buffers.add(node.buffer);
      return;
    }
    for (const child of Object.values(node)) visit(child);
  };
  visit(value);
  return [...buffers];
}
