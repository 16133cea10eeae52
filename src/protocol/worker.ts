import * as v from 'valibot';
import type { Comparison } from '../core/export/comparison-json';
import type { ElasticAnswer } from '../core/elastic/answer';
import type { ElasticRequest } from '../core/elastic/request';
import type { Run } from '../core/formats/run';
import type { Place } from '../core/spec/located';
import type { ResolveDefaults } from '../core/resolve/defaults';
import type { Plan } from '../core/planner/plan';
import type { Remedy } from '../core/rules/plan/remedies';
import type { PlanRequest } from '../core/spec/request';
import type { SearchAsked, SearchUpdate } from '../core/layout-search/answer';
import type { SearchResult } from '../core/layout-search/result';
import type { SearchProblem } from '../core/layout-search/search-problem';
import type { NamedProfile } from '../core/spec/profile';
import type { ScheduleFile } from '../core/schedules/pytorch-csv/schedule-file';
import type { IncumbentTimes } from '../core/slicing/solve';

/** What a planner thread is started with. */
export interface WorkerData {
  /** One Int32: the id of the request to give up. A shared flag, since a thread that is solving reads no messages. */
  readonly cancelFlag: SharedArrayBuffer;
}

/** What a plan is compared with: another one, without its timelines, or the file of a measured run on this machine; `file` is its identity, in the places of errors. */
export type Against =
  { readonly kind: 'plan'; readonly plan: Plan } | { readonly kind: 'measured'; readonly path: string; readonly file: string };

/** What `resolveRun` takes. */
export interface ResolveAsked {
  readonly run: Run;
  readonly defaults: ResolveDefaults;
  /** Profiles near the config. */
  readonly found: readonly NamedProfile[];
}

/** Client to worker. One at a time: the next only after the last was answered. */
export type WorkerRequest =
  | { readonly type: 'plan'; readonly id: number; readonly request: PlanRequest }
  | ({ readonly type: 'resolve'; readonly id: number } & ResolveAsked)
  /** `plan`, without its timelines, is of `run` and does not fit. */
  | ({ readonly type: 'remedies'; readonly id: number; readonly plan: Plan } & ResolveAsked)
  | { readonly type: 'elastic'; readonly id: number; readonly request: ElasticRequest }
  | ({ readonly type: 'search'; readonly id: number; readonly problem: SearchProblem } & SearchAsked)
  | { readonly type: 'compare'; readonly id: number; readonly plan: Plan; readonly against: Against }
  /** `text` is a schedule in PyTorch's CSV, which `file` and `name` name in findings and on screen. */
  | { readonly type: 'schedule'; readonly id: number; readonly text: string; readonly file: string; readonly name: string };

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
  | { readonly type: 'progress'; readonly id: number; readonly fraction: number; readonly incumbent: IncumbentTimes | null }
  | { readonly type: 'searching'; readonly id: number; readonly update: SearchUpdate }
  | { readonly type: 'plan'; readonly id: number; readonly plan: Plan }
  | { readonly type: 'resolve'; readonly id: number; readonly request: PlanRequest }
  | { readonly type: 'remedies'; readonly id: number; readonly remedies: readonly Remedy[] }
  | { readonly type: 'elastic'; readonly id: number; readonly answer: ElasticAnswer }
  | { readonly type: 'search'; readonly id: number; readonly result: SearchResult }
  | { readonly type: 'compare'; readonly id: number; readonly comparison: Comparison }
  | { readonly type: 'schedule'; readonly id: number; readonly schedule: ScheduleFile }
  | { readonly type: 'cancelled'; readonly id: number }
  | { readonly type: 'error'; readonly id: number; readonly error: WorkerFailure };

// Requests and plans come from our own code on the other side of a structured clone: their envelope is checked, not every number in them.
const id = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const planRequest = v.custom<PlanRequest>((value) =>
  v.is(v.looseObject({ model: v.object({}), training: v.object({}), layout: v.object({}) }), value),
);
const run = v.custom<Run>((value) => v.is(v.looseObject({ model: v.object({}), training: v.object({}), layout: v.object({}) }), value));
const defaults = v.custom<ResolveDefaults>((value) => v.is(v.looseObject({ gpu: v.string() }), value));
const profile = v.custom<NamedProfile>((value) => v.is(v.looseObject({ file: v.string(), profile: v.object({}) }), value));
const resolveAsked = { run, defaults, found: v.array(profile) };
const remedy = v.custom<Remedy>((value) =>
  v.is(v.looseObject({ label: v.string(), sets: v.array(v.tuple([v.string(), v.unknown()])) }), value),
);
const plan = v.custom<Plan>((value) => v.is(v.looseObject({ chosen: v.string(), candidates: v.array(v.object({})) }), value));
const elasticRequest = v.custom<ElasticRequest>((value) =>
  v.is(v.looseObject({ model: v.object({}), cluster: v.object({}), freezing: v.object({}), epochs: v.number() }), value),
);
const answer = v.custom<ElasticAnswer>((value) =>
  v.is(v.looseObject({ plan: v.object({}), spans: v.array(v.object({})), steps: v.array(v.object({})) }), value),
);
const problem = v.custom<SearchProblem>((value) => v.is(v.looseObject({ request: planRequest, fixed: v.instance(Set) }), value));
const update = v.custom<SearchUpdate>((value) => v.is(v.looseObject({ kind: v.picklist(['searching', 'found', 'helping']) }), value));
const result = v.custom<SearchResult>((value) => v.is(v.looseObject({ best: v.object({}), front: v.array(v.object({})) }), value));
const comparison = v.custom<Comparison>((value) => v.is(v.looseObject({ kind: v.picklist(['plan', 'trace', 'times']) }), value));
const schedule = v.custom<ScheduleFile>((value) => v.is(v.looseObject({ findings: v.array(v.object({})) }), value));
const against = v.variant('kind', [
  v.object({ kind: v.literal('plan'), plan }),
  v.object({ kind: v.literal('measured'), path: v.string(), file: v.string() }),
]);

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
  v.object({ type: v.literal('resolve'), id, ...resolveAsked }),
  v.object({ type: v.literal('remedies'), id, plan, ...resolveAsked }),
  v.object({ type: v.literal('elastic'), id, request: elasticRequest }),
  v.object({ type: v.literal('search'), id, problem, tokenBudget: v.nullable(v.number()), improvements: v.boolean() }),
  v.object({ type: v.literal('compare'), id, plan, against }),
  v.object({ type: v.literal('schedule'), id, text: v.string(), file: v.string(), name: v.string() }),
]);
const workerReply = v.variant('type', [
  v.object({
    type: v.literal('progress'),
    id,
    fraction: v.pipe(v.number(), v.minValue(0), v.maxValue(1)),
    incumbent: v.nullable(v.object({ latencyMs: v.number(), lowerBoundMs: v.number() })),
  }),
  v.object({ type: v.literal('searching'), id, update }),
  v.object({ type: v.literal('plan'), id, plan }),
  v.object({ type: v.literal('resolve'), id, request: planRequest }),
  v.object({ type: v.literal('remedies'), id, remedies: v.array(remedy) }),
  v.object({ type: v.literal('elastic'), id, answer }),
  v.object({ type: v.literal('search'), id, result }),
  v.object({ type: v.literal('compare'), id, comparison }),
  v.object({ type: v.literal('schedule'), id, schedule }),
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
