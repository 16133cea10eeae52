import * as v from 'valibot';
import type { PrefillAnswer, PrefillAsked } from '../features/prefill/core/answer';
import type { Comparison } from '../features/compare/json';
import type { ElasticAnswer } from '../features/elastic/core/answer';
import type { ElasticRequest } from '../features/elastic/core/request';
import type { Run } from '../core/formats/run';
import type { ResolveDefaults } from '../core/plan-request/defaults';
import type { Plan } from '../core/planner/plan';
import type { PreparedRehearsal, RehearsalAsked } from '../features/rehearsal/core/prepare';
import type { Remedy } from '../core/rules/plan/remedy';
import type { PlanRequest } from '../core/domain/request';
import type { SearchUpdate } from '../core/layout-search/answer';
import type { SearchResult } from '../core/layout-search/result';
import type { SearchProblem } from '../core/layout-search/search-problem';
import type { NamedProfile } from '../core/domain/profile';
import type { ScheduleFile } from '../core/schedules/pytorch-csv/schedule-file';
import type { Sentence } from '../core/sentence';
import { whatIfSets } from './page-schema';

/*
 * Each message is declared once, and its type taken from the declaration. Both ends are of one build of our own code: what each is started
 * with, which message it is and its own fields are checked, and of plans, requests and answers, which may be megabytes, that they are such.
 */

/** A value of ours that crosses threads as it is. @param shape what distinguishes it from others. */
function ours<T>(shape: v.ObjectEntries): v.CustomSchema<T, undefined> {
  const object = v.looseObject(shape);
  return v.custom<T>((value) => v.is(object, value));
}

const id = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const some = v.object({});
const planRequest = ours<PlanRequest>({ model: some, training: some, layout: some });
const plan = ours<Plan>({ chosen: v.string(), candidates: v.array(some) });
const comparison = ours<Comparison>({ kind: v.picklist(['plan', 'trace', 'times']) });
const update = ours<SearchUpdate>({ kind: v.picklist(['searching', 'found', 'helping']) });

/** What `resolveRun` takes; `found` are profiles near the config. */
const resolveAsked = v.object({
  run: ours<Run>({ model: some, training: some, layout: some }),
  defaults: ours<ResolveDefaults>({ gpu: v.string() }),
  found: v.pipe(v.array(ours<NamedProfile>({ file: v.string(), profile: some })), v.readonly()),
});
export type ResolveAsked = v.InferOutput<typeof resolveAsked>;

/**
 * What a plan is compared with: another one, without its timelines, or the file of a measured run on this machine; `file` is its identity,
 * in the places of errors.
 */
const against = v.variant('kind', [
  v.object({ kind: v.literal('plan'), plan }),
  v.object({ kind: v.literal('measured'), path: v.string(), file: v.string() }),
]);
export type Against = v.InferOutput<typeof against>;

/**
 * What a planner thread is started with. `cancelFlag` is one Int32: the id of the request to give up. A shared flag, since a thread that is
 * solving reads no messages.
 */
const workerData = v.object({ cancelFlag: v.instance(SharedArrayBuffer) });
export type WorkerData = v.InferOutput<typeof workerData>;

/** Client to worker. One at a time: the next only after the last was answered. */
const workerRequest = v.variant('type', [
  // `first`: where a schedule is asked for, only its plan is wanted before the whole.
  v.object({ type: v.literal('plan'), id, request: planRequest, first: v.boolean() }),
  v.object({ type: v.literal('resolve'), id, ...resolveAsked.entries }),
  v.object({
    type: v.literal('prefill'),
    id,
    ...resolveAsked.entries,
    model: v.string(),
    asked: ours<PrefillAsked>({ tokens: v.number(), stages: v.nullable(v.number()) }),
  }),
  // `plan`, without its timelines, is of `run` and does not fit.
  v.object({ type: v.literal('remedies'), id, plan, ...resolveAsked.entries }),
  // The run with other sizes; its plan comes without timelines.
  v.object({ type: v.literal('whatIf'), id, sets: whatIfSets, ...resolveAsked.entries }),
  v.object({
    type: v.literal('elastic'),
    id,
    request: ours<ElasticRequest>({ model: some, cluster: some, freezing: some, epochs: v.number() }),
  }),
  v.object({
    type: v.literal('search'),
    id,
    problem: ours<SearchProblem>({ request: planRequest, fixed: v.instance(Set) }),
    tokenBudget: v.nullable(v.number()),
    improvements: v.boolean(),
  }),
  v.object({ type: v.literal('compare'), id, plan, against }),
  // `plan` has the timeline of the candidate that it chose, and only that.
  v.object({
    type: v.literal('rehearsal'),
    id,
    plan,
    asked: ours<RehearsalAsked>({ scale: some, steps: v.number() }),
    room: v.object({ usableBytes: v.number(), cores: v.number() }),
  }),
  // `text` is a schedule in PyTorch's CSV, which `file` and `name` name in findings and on screen.
  v.object({ type: v.literal('schedule'), id, text: v.string(), file: v.string(), name: v.string() }),
]);
export type WorkerRequest = v.InferOutput<typeof workerRequest>;

/**
 * A failure as it crosses threads; `expected` ones keep code, remedy and the place in a file, where they come from one; the others are bugs
 * and keep their stack.
 */
const failure = v.object({
  expected: v.boolean(),
  code: v.string(),
  message: ours<Sentence>({ template: v.string() }),
  remedy: ours<Sentence>({ template: v.string() }),
  place: v.nullable(v.object({ file: v.string(), range: v.object({ start: v.number(), end: v.number() }) })),
  stack: v.nullable(v.string()),
});
export type WorkerFailure = v.InferOutput<typeof failure>;

/**
 * Worker to client. Any number of `progress`, with the best slices so far when they are what is new, of `first` plans or, of a search,
 * `searching`; then one of the others.
 */
const workerReply = v.variant('type', [
  v.object({
    type: v.literal('progress'),
    id,
    fraction: v.pipe(v.number(), v.minValue(0), v.maxValue(1)),
    incumbent: v.nullable(v.object({ latencyMs: v.number(), lowerBoundMs: v.number() })),
  }),
  v.object({ type: v.literal('first'), id, plan }),
  v.object({ type: v.literal('searching'), id, update }),
  v.object({ type: v.literal('plan'), id, plan }),
  v.object({ type: v.literal('resolve'), id, request: planRequest }),
  v.object({ type: v.literal('prefill'), id, answer: ours<PrefillAnswer>({ prefill: some, engines: v.array(some) }) }),
  v.object({ type: v.literal('whatIf'), id, plan }),
  v.object({
    type: v.literal('remedies'),
    id,
    remedies: v.pipe(v.array(ours<Remedy>({ label: some, sets: v.array(v.tuple([v.string(), v.unknown()])) })), v.readonly()),
  }),
  v.object({ type: v.literal('elastic'), id, answer: ours<ElasticAnswer>({ plan: some, spans: v.array(some), steps: v.array(some) }) }),
  v.object({ type: v.literal('search'), id, result: ours<SearchResult>({ best: some, paretoFront: v.array(some) }) }),
  v.object({ type: v.literal('compare'), id, comparison }),
  v.object({ type: v.literal('rehearsal'), id, prepared: ours<PreparedRehearsal>({ design: some, fits: v.boolean() }) }),
  v.object({ type: v.literal('schedule'), id, schedule: ours<ScheduleFile>({ findings: v.array(some) }) }),
  v.object({ type: v.literal('cancelled'), id }),
  v.object({ type: v.literal('error'), id, error: failure }),
]);
export type WorkerReply = v.InferOutput<typeof workerReply>;

/** @throws ValiError when `value` is not what a planner thread is started with. */
export function parseWorkerData(value: unknown): WorkerData {
  return v.parse(workerData, value);
}

/** @throws ValiError when `message` is not a request. */
export function parseWorkerRequest(message: unknown): WorkerRequest {
  return v.parse(workerRequest, message);
}

/** @throws ValiError when `message` is not a reply. */
export function parseWorkerReply(message: unknown): WorkerReply {
  return v.parse(workerReply, message);
}
