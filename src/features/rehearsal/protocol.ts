import * as v from 'valibot';
import type { ChunkLayers } from './core/estimate';
import type { Schedule } from '../../core/schedules/schedule';
import { providerNames, type Cell } from '../../core/domain/profile';
import type { ProfilerJob } from '../../protocol/profiler';

/** The model that is rehearsed, and its step. */
export interface RehearsedStep {
  readonly job: ProfilerJob;
  /** Of each chunk, in the order of the model. */
  readonly chunks: readonly ChunkLayers[];
  /** Of a sequence. */
  readonly tokens: number;
  /** Sequences of the step. */
  readonly batch: number;
  /** The head is the token table. */
  readonly tied: boolean;
  /** Only layers, forward only: a prompt on its way to its first token. */
  readonly forwardOnly?: boolean;
}

// What follows comes from our own code on the other side of a process boundary: envelopes are checked, not every number in them.
const step = v.custom<RehearsedStep>((value) => v.is(v.looseObject({ job: v.object({}), chunks: v.array(v.any()) }), value));
const schedule = v.custom<Schedule>((value) =>
  v.is(v.looseObject({ name: v.string(), stages: v.number(), units: v.array(v.any()) }), value),
);
const cell = v.custom<Cell>((value) => v.is(v.looseObject({ batch: v.number(), tokens: v.number(), context: v.number() }), value));
const numbers = v.instance(Float64Array);
const count = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const whole = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** Parent to the process of one or several stages, one at a time. */
const request = v.variant('type', [
  v.object({
    type: v.literal('open'),
    id: count,
    provider: v.picklist(providerNames),
    step,
    /** Backward is split in places. */
    split: v.boolean(),
    /** Stages that this process runs, and the place where each stage's process listens for the others; no places: it runs all of them. */
    stages: v.array(whole),
    addresses: v.array(v.string()),
  }),
  /** Times each of these cells by itself on each chunk of its stages, this many times. */
  v.object({
    type: v.literal('time'),
    id: count,
    cells: v.array(cell),
    chunks: v.array(v.object({ stage: whole, chunk: whole })),
    split: v.boolean(),
    rounds: count,
  }),
  /** Runs the rows of its stages; what becomes of the gradients. */
  v.object({ type: v.literal('step'), id: count, schedule, keep: v.picklist(['reference', 'compared', 'nothing']) }),
]);
export type RehearsalRequest = v.InferOutput<typeof request>;

/** Times of one cell on one chunk, ms, one for each round. Of a pass that was not run: empty. */
export interface CellTimes {
  readonly chunk: number;
  readonly cell: Cell;
  /** By the number of the kind of pass, as in `operationKind`. */
  readonly ms: readonly (readonly number[])[];
}
const cellTimes = v.custom<CellTimes>((value) => v.is(v.looseObject({ chunk: v.number(), ms: v.array(v.any()) }), value));

/** What came from another stage: when it was handed over there and when it was here, ms of the machine's clock. */
const transfer = v.object({ from: whole, to: whole, bytes: whole, sentMs: v.number(), arrivedMs: v.number() });
export type Transfer = v.InferOutput<typeof transfer>;

const memory = { rssBytes: whole, peakRssBytes: whole };

/** The process to its parent: one for each request, and `passed` while a step runs. */
const reply = v.variant('type', [
  v.object({ type: v.literal('opened'), id: count, onnxruntime: v.string(), attention: v.string(), ...memory }),
  v.object({ type: v.literal('timed'), id: count, cells: v.array(cellTimes), ...memory }),
  v.object({
    type: v.literal('stepped'),
    id: count,
    /** By row of the schedule, ms of the machine's clock; not a number where another process ran it. */
    startMs: numbers,
    endMs: numbers,
    /** By row, without what it waited for the processor. */
    workMs: numbers,
    /** Processor time of all threads of the process since it was asked. */
    processorMs: v.number(),
    loss: v.number(),
    transfers: v.array(transfer),
    /** Of the stages' own gradients, where they were compared with those of the reference. */
    error: v.nullable(v.object({ error: v.number(), tensor: v.nullable(v.string()) })),
    ...memory,
  }),
  v.object({ type: v.literal('passed'), id: count, passes: whole }),
  v.object({ type: v.literal('failed'), id: count, message: v.string() }),
]);
export type RehearsalReply = v.InferOutput<typeof reply>;

/** @throws ValiError when `message` is not a request. */
export function parseRehearsalRequest(message: unknown): RehearsalRequest {
  return v.parse(request, message);
}

/** @throws ValiError when `message` is not a reply. */
export function parseRehearsalReply(message: unknown): RehearsalReply {
  return v.parse(reply, message);
}

/** Argument of the child that runs stages of a rehearsal. */
export const stageArgument = 'stage';
