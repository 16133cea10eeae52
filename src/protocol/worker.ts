import * as v from 'valibot';
import type { Remedy } from '../core/rules/plan/remedy';
import type { SearchUpdate } from '../core/layout-search/answer';
import type { SearchResult } from '../core/layout-search/result';
import type { SearchProblem } from '../core/layout-search/search-problem';
import type { ScheduleFile } from '../core/schedules/pytorch-csv/schedule-file';
import type { Sentence } from '../core/sentence';
import { toolJob } from '../features/agents/job';
import { compareJob } from '../features/compare/job';
import { elasticJob } from '../features/elastic/job';
import { largestJob } from '../features/largest/job';
import { oomJob } from '../features/oom/job';
import { prefillJob } from '../features/prefill/job';
import { rehearsalJob } from '../features/rehearsal/job';
import { whatIfSets } from './page-schema';
import { ours, plan, planRequest, resolveAsked, some } from './thread-values';

/*
 * Each message is declared once, and its type taken from the declaration. Both ends are of one build of our own code: what each is started
 * with, which message it is and its own fields are checked, and of plans, requests and answers, which may be megabytes, that they are such.
 */

const id = v.pipe(v.number(), v.safeInteger(), v.minValue(1));

/** What the planner's thread is asked and what it answers, a row for each kind of request. */
const jobs = {
  // `first`: where a schedule is asked for, only its plan is wanted before the whole.
  plan: { asks: v.object({ request: planRequest, first: v.boolean() }), answers: plan },
  resolve: { asks: resolveAsked, answers: planRequest },
  // `plan`, without its timelines, is of `run` and does not fit.
  remedies: {
    asks: v.object({ plan, ...resolveAsked.entries }),
    answers: v.pipe(v.array(ours<Remedy>({ label: some, sets: v.array(v.tuple([v.string(), v.unknown()])) })), v.readonly()),
  },
  // The run with other sizes; its plan comes without timelines.
  whatIf: { asks: v.object({ sets: whatIfSets, ...resolveAsked.entries }), answers: plan },
  search: {
    asks: v.object({
      problem: ours<SearchProblem>({ request: planRequest, fixed: v.instance(Set) }),
      improvements: v.boolean(),
    }),
    answers: ours<SearchResult>({ best: some, paretoFront: v.array(some) }),
  },
  // `text` is a schedule in PyTorch's CSV, which `file` and `name` name in findings and on screen.
  schedule: {
    asks: v.object({ text: v.string(), file: v.string(), name: v.string() }),
    answers: ours<ScheduleFile>({ findings: v.array(some) }),
  },
  compare: compareJob,
  elastic: elasticJob,
  largest: largestJob,
  oom: oomJob,
  prefill: prefillJob,
  rehearsal: rehearsalJob,
  tool: toolJob,
};

export type JobType = keyof typeof jobs;
export type JobInput<T extends JobType> = v.InferOutput<(typeof jobs)[T]['asks']>;
export type AnswerTo<T extends JobType> = v.InferOutput<(typeof jobs)[T]['answers']>;

/** Client to worker. One at a time: the next only after the last was answered. */
export type WorkerRequest = { [T in JobType]: JobRequest<T> }[JobType];
export type JobRequest<T extends JobType> = { readonly type: T; readonly id: number } & JobInput<T>;

const jobType = v.picklist(Object.keys(jobs) as JobType[]);
const requestHead = v.object({ type: jobType, id });

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

const update = ours<SearchUpdate>({ kind: v.picklist(['searching', 'found', 'helping']) });

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
  // `answer` is what the job answers.
  v.object({ type: v.literal('answer'), id, job: jobType, answer: v.unknown() }),
  v.object({ type: v.literal('cancelled'), id }),
  v.object({ type: v.literal('error'), id, error: failure }),
]);
export type WorkerReply = v.InferOutput<typeof workerReply>;

/** @throws ValiError when `message` is not a request. */
export function parseWorkerRequest(message: unknown): WorkerRequest {
  const head = v.parse(requestHead, message);
  return { ...head, ...v.parse(jobs[head.type].asks, message) } as WorkerRequest;
}

/** @throws ValiError when `message` is not a reply, or not what its job answers. */
export function parseWorkerReply(message: unknown): WorkerReply {
  const reply = v.parse(workerReply, message);
  if (reply.type === 'answer') v.parse(jobs[reply.job].answers, reply.answer);
  return reply;
}
