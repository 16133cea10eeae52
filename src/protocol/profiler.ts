import * as v from 'valibot';
import type { Precision } from '../core/domain/cluster';
import { providerNames, type LayerShape } from '../core/domain/profile';

/** What the child is to build and time. */
export interface ProfilerJob {
  readonly shape: LayerShape;
  readonly precision: Precision;
  /** Weight gradients accumulate in fp32 whatever the precision. */
  readonly gradAccumulationFp32: boolean;
  /**
   * `fused`: one attention operator forward where the provider has one, and a backward that recomputes the probabilities as FlashAttention
   * does; `plain`: neither.
   */
  readonly attention: 'fused' | 'plain';
  /** CPU threads inside an operator; null: the provider's default. */
  readonly threads: number | null;
  /** Largest cell that will be asked for: sizes the buffers on the device. */
  readonly limits: { readonly batch: number; readonly tokens: number; readonly sequence: number };
}

// Jobs come from our own code on the other side of a process boundary: their envelope is checked, not every number in them.
const job = v.custom<ProfilerJob>((value) =>
  v.is(v.looseObject({ shape: v.object({}), precision: v.string(), limits: v.object({}) }), value),
);

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const whole = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const ms = v.pipe(v.number(), v.finite());
const launch = v.pipe(v.number(), v.minValue(0));
/** `layers2` is two layers in one graph, to check that layers add up. */
const timedPart = v.picklist(['layer', 'embedding', 'head', 'layers2']);
export type TimedPart = v.InferOutput<typeof timedPart>;

/** Parent to child, one at a time. */
const request = v.variant('type', [
  v.object({ type: v.literal('open'), id: count, provider: v.picklist(providerNames), job }),
  // Runs a cell once, forward and backward.
  v.object({ type: v.literal('measure'), id: count, part: timedPart, batch: count, tokens: count, context: whole }),
  // Which node ran where, from an untimed run of a small cell, and what launching a node takes.
  v.object({ type: v.literal('placement'), id: count }),
]);
export type ProfilerRequest = v.InferOutput<typeof request>;

/**
 * Nodes of one operator that one execution provider ran. `heavy`: does work that grows with the widths (GEMM, attention, softmax, norm),
 * not shape arithmetic.
 */
const placedOperator = v.object({
  part: v.picklist(['layer', 'embedding', 'head']),
  direction: v.picklist(['forward', 'backward']),
  operator: v.string(),
  provider: v.string(),
  nodes: whole,
  heavy: v.boolean(),
});
export type PlacedOperator = v.InferOutput<typeof placedOperator>;

/** A request before it is numbered, or a reply before it is joined to its request. */
export type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never;

/** Child to parent: one for each request. */
const reply = v.variant('type', [
  v.object({
    type: v.literal('opened'),
    id: count,
    device: v.object({
      kind: v.picklist(['gpu', 'cpu', 'software']),
      name: v.string(),
      memoryBytes: v.nullable(v.number()),
      driver: v.nullable(v.string()),
    }),
    attention: v.object({ forward: v.string(), backward: v.string() }),
    versions: v.record(v.string(), v.string()),
    tf32: v.nullable(v.boolean()),
  }),
  // Raw times of the graphs, and of graphs that only make their inputs, to be subtracted. `rssBytes`: resident memory of the child after
  // it. `workMs` and `waitedMs`: of all its runs, processor time, and the additional time that they waited for it.
  v.object({
    type: v.literal('measured'),
    id: count,
    forwardMs: ms,
    backwardMs: ms,
    forwardInputsMs: ms,
    backwardInputsMs: ms,
    rssBytes: whole,
    workMs: v.pipe(v.number(), v.minValue(0)),
    waitedMs: v.pipe(v.number(), v.minValue(0)),
  }),
  v.object({ type: v.literal('skipped'), id: count, reason: v.picklist(['out-of-memory', 'failed']), detail: v.string() }),
  v.object({
    type: v.literal('placement'),
    id: count,
    operators: v.pipe(v.array(placedOperator), v.readonly()),
    launches: v.object({ perNodeUs: launch, perProductUs: launch, forwardMs: launch, backwardMs: launch }),
  }),
  // The provider does not load, or the job cannot run on it. `message` is ONNX Runtime's own.
  v.object({ type: v.literal('failed'), id: count, message: v.string() }),
]);
export type ProfilerReply = v.InferOutput<typeof reply>;

/** @throws ValiError when `message` is not a request. */
export function parseProfilerRequest(message: unknown): ProfilerRequest {
  return v.parse(request, message);
}

/** @throws ValiError when `message` is not a reply. */
export function parseProfilerReply(message: unknown): ProfilerReply {
  return v.parse(reply, message);
}
