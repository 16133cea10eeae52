import * as v from 'valibot';
import type { Plan } from '../core/planner/plan';
import type { PlanRequest } from '../core/planner/request';
import type { StandingTimes } from '../core/solver/solve';

/** What a planner thread is started with. */
export interface WorkerData {
  /** One Int32: the id of the request to give up. A shared flag, since a thread that is solving reads no messages. */
  readonly cancelFlag: SharedArrayBuffer;
}

/** Client to worker. One at a time: the next only after the last was answered. */
export interface WorkerRequest {
  readonly type: 'plan';
  readonly id: number;
  readonly request: PlanRequest;
}

/** A failure as it crosses threads; `expected` ones keep code and remedy, the others are bugs and keep their stack. */
export interface WorkerFailure {
  readonly expected: boolean;
  readonly code: string;
  readonly message: string;
  readonly remedy: string;
  readonly stack: string | null;
}

/** Worker to client. Any number of `progress`, with the best slices so far when they are what is new, then one of the others. */
export type WorkerReply =
  | { readonly type: 'progress'; readonly id: number; readonly fraction: number; readonly standing: StandingTimes | null }
  | { readonly type: 'plan'; readonly id: number; readonly plan: Plan }
  | { readonly type: 'cancelled'; readonly id: number }
  | { readonly type: 'error'; readonly id: number; readonly error: WorkerFailure };

// Requests and plans come from our own code on the other side of a structured clone: their envelope is checked, not every number in them.
const id = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const planRequest = v.custom<PlanRequest>((value) =>
  v.is(v.looseObject({ model: v.object({}), training: v.object({}), layout: v.object({}) }), value),
);
const plan = v.custom<Plan>((value) => v.is(v.looseObject({ chosen: v.string(), candidates: v.array(v.object({})) }), value));

const workerData = v.object({ cancelFlag: v.instance(SharedArrayBuffer) });
const workerRequest = v.object({ type: v.literal('plan'), id, request: planRequest });
const workerReply = v.variant('type', [
  v.object({
    type: v.literal('progress'),
    id,
    fraction: v.pipe(v.number(), v.minValue(0), v.maxValue(1)),
    standing: v.nullable(v.object({ latencyMs: v.number(), lowerBoundMs: v.number() })),
  }),
  v.object({ type: v.literal('plan'), id, plan }),
  v.object({ type: v.literal('cancelled'), id }),
  v.object({
    type: v.literal('error'),
    id,
    error: v.object({ expected: v.boolean(), code: v.string(), message: v.string(), remedy: v.string(), stack: v.nullable(v.string()) }),
  }),
]);

/** @throws ValiError when `value` is not what a planner thread is started with. */
export function parseWorkerData(value: unknown): WorkerData {
  return v.parse(workerData, value);
}

/** @throws ValiError when `message` is no request. */
export function parseWorkerRequest(message: unknown): WorkerRequest {
  return v.parse(workerRequest, message);
}

/** @throws ValiError when `message` is no reply. */
export function parseWorkerReply(message: unknown): WorkerReply {
  return v.parse(workerReply, message);
}
