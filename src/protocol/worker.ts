import * as v from 'valibot';
import type { ElasticAnswer } from '../core/elastic/answer';
import type { ElasticRequest } from '../core/elastic/request';
import type { Place } from '../core/located';
import type { Plan } from '../core/planner/plan';
import type { PlanRequest } from '../core/planner/request';
import type { SearchAsked, SearchStanding } from '../core/planner/search/answer';
import type { SearchResult } from '../core/planner/search/result';
import type { SearchProblem } from '../core/planner/search/space';
import type { StandingTimes } from '../core/solver/solve';

/** What a planner thread is started with. */
export interface WorkerData {
  /** One Int32: the id of the request to give up. A shared flag, since a thread that is solving reads no messages. */
  readonly cancelFlag: SharedArrayBuffer;
}

/** Client to worker. One at a time: the next only after the last was answered. */
export type WorkerRequest =
  | { readonly type: 'plan'; readonly id: number; readonly request: PlanRequest }
  | { readonly type: 'elastic'; readonly id: number; readonly request: ElasticRequest }
  | ({ readonly type: 'search'; readonly id: number; readonly problem: SearchProblem } & SearchAsked);

/** A failure as it crosses threads; `expected` ones keep code and remedy, the others are bugs and keep their stack. */
export interface WorkerFailure {
  readonly expected: boolean;
  readonly code: string;
  readonly message: string;
  readonly remedy: string;
  /** Where in which file, for expected ones that come from one. */
  readonly place: Place | null;
  readonly stack: string | null;
}

/** Worker to client. Any number of `progress`, with the best slices so far when they are what is new, or, of a search, `searching`; then one of the others. */
export type WorkerReply =
  | { readonly type: 'progress'; readonly id: number; readonly fraction: number; readonly standing: StandingTimes | null }
  | { readonly type: 'searching'; readonly id: number; readonly standing: SearchStanding }
  | { readonly type: 'plan'; readonly id: number; readonly plan: Plan }
  | { readonly type: 'elastic'; readonly id: number; readonly answer: ElasticAnswer }
  | { readonly type: 'search'; readonly id: number; readonly result: SearchResult }
  | { readonly type: 'cancelled'; readonly id: number }
  | { readonly type: 'error'; readonly id: number; readonly error: WorkerFailure };

// Requests and plans come from our own code on the other side of a structured clone: their envelope is checked, not every number in them.
const id = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const planRequest = v.custom<PlanRequest>((value) =>
  v.is(v.looseObject({ model: v.object({}), training: v.object({}), layout: v.object({}) }), value),
);
const plan = v.custom<Plan>((value) => v.is(v.looseObject({ chosen: v.string(), candidates: v.array(v.object({})) }), value));
const elasticRequest = v.custom<ElasticRequest>((value) =>
  v.is(v.looseObject({ model: v.object({}), cluster: v.object({}), freezing: v.object({}), epochs: v.number() }), value),
);
const answer = v.custom<ElasticAnswer>((value) =>
  v.is(v.looseObject({ plan: v.object({}), spans: v.array(v.object({})), steps: v.array(v.object({})) }), value),
);
const problem = v.custom<SearchProblem>((value) => v.is(v.looseObject({ request: planRequest, fixed: v.instance(Set) }), value));
const standing = v.custom<SearchStanding>((value) => v.is(v.looseObject({ kind: v.picklist(['searching', 'found', 'helping']) }), value));
const result = v.custom<SearchResult>((value) => v.is(v.looseObject({ best: v.object({}), front: v.array(v.object({})) }), value));

const failure = v.object({
  expected: v.boolean(),
  code: v.string(),
  message: v.string(),
  remedy: v.string(),
  place: v.nullable(v.object({ file: v.string(), range: v.object({ start: v.number(), end: v.number() }) })),
  stack: v.nullable(v.string()),
});

const workerData = v.object({ cancelFlag: v.instance(SharedArrayBuffer) });
const workerRequest = v.variant('type', [
  v.object({ type: v.literal('plan'), id, request: planRequest }),
  v.object({ type: v.literal('elastic'), id, request: elasticRequest }),
  v.object({ type: v.literal('search'), id, problem, tokenBudget: v.nullable(v.number()), improvements: v.boolean() }),
]);
const workerReply = v.variant('type', [
  v.object({
    type: v.literal('progress'),
    id,
    fraction: v.pipe(v.number(), v.minValue(0), v.maxValue(1)),
    standing: v.nullable(v.object({ latencyMs: v.number(), lowerBoundMs: v.number() })),
  }),
  v.object({ type: v.literal('searching'), id, standing }),
  v.object({ type: v.literal('plan'), id, plan }),
  v.object({ type: v.literal('elastic'), id, answer }),
  v.object({ type: v.literal('search'), id, result }),
  v.object({ type: v.literal('cancelled'), id }),
  v.object({
    type: v.literal('error'),
    id,
    error: failure,
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
