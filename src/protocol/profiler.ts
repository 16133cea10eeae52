import * as v from 'valibot';
import type { Precision } from '../core/spec/cluster';
import { providerNames, type ProfileDevice, type ProfilePart, type ProviderName, type LayerShape } from '../core/spec/profile';

/** What the child is to build and time. */
export interface ProfilerJob {
  readonly shape: LayerShape;
  readonly precision: Precision;
  /** Weight gradients accumulate in fp32 whatever the precision. */
  readonly fp32Gradients: boolean;
  /** `fused`: one attention operator forward where the provider has one, and a backward that recomputes the probabilities as FlashAttention does; `plain`: neither. */
  readonly attention: 'fused' | 'plain';
  /** CPU threads inside an operator; null: the provider's default. */
  readonly threads: number | null;
  /** Largest cell that will be asked for: sizes the buffers on the device. */
  readonly limits: { readonly batch: number; readonly tokens: number; readonly sequence: number };
}

/** `layers2` is two layers in one graph, to check that layers add up. */
export type TimedPart = ProfilePart | 'layers2';

/** Parent to child, one at a time. */
export type ProfilerRequest =
  | { readonly type: 'open'; readonly id: number; readonly provider: ProviderName; readonly job: ProfilerJob }
  /** Runs a cell once, forward and backward. */
  | {
      readonly type: 'measure';
      readonly id: number;
      readonly part: TimedPart;
      readonly batch: number;
      readonly tokens: number;
      readonly context: number;
    }
  /** Which node ran where, from an untimed run of a small cell. */
  | { readonly type: 'placement'; readonly id: number };

/** Nodes of one operator that one execution provider ran. `heavy`: does work that grows with the widths (GEMM, attention, softmax, norm), not shape arithmetic. */
export interface PlacedOperator {
  readonly part: ProfilePart;
  readonly direction: 'forward' | 'backward';
  readonly operator: string;
  readonly provider: string;
  readonly nodes: number;
  readonly heavy: boolean;
}

/** A request before it is numbered, or a reply before it is joined to its request. */
export type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never;

/** Child to parent: one for each request. */
export type ProfilerReply =
  | {
      readonly type: 'opened';
      readonly id: number;
      readonly device: ProfileDevice;
      readonly attention: { readonly forward: string; readonly backward: string };
      readonly versions: Readonly<Record<string, string>>;
    }
  /** Raw times of the graphs, and of graphs that only make their inputs, to be subtracted. `rssBytes`: resident memory of the child after it. */
  | {
      readonly type: 'measured';
      readonly id: number;
      readonly forwardMs: number;
      readonly backwardMs: number;
      readonly forwardInputsMs: number;
      readonly backwardInputsMs: number;
      readonly rssBytes: number;
    }
  | { readonly type: 'skipped'; readonly id: number; readonly reason: 'out-of-memory' | 'failed'; readonly detail: string }
  | { readonly type: 'placement'; readonly id: number; readonly operators: readonly PlacedOperator[] }
  /** The provider does not load, or the job cannot run on it. `message` is ONNX Runtime's own. */
  | { readonly type: 'failed'; readonly id: number; readonly message: string };

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const whole = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const ms = v.pipe(v.number(), v.finite());
const part = v.picklist(['layer', 'embedding', 'head']);

// Jobs come from our own code on the other side of a process boundary: their envelope is checked, not every number in them.
const job = v.custom<ProfilerJob>((value) =>
  v.is(v.looseObject({ shape: v.object({}), precision: v.string(), limits: v.object({}) }), value),
);

const request = v.variant('type', [
  v.object({ type: v.literal('open'), id: count, provider: v.picklist(providerNames), job }),
  v.object({
    type: v.literal('measure'),
    id: count,
    part: v.picklist(['layer', 'embedding', 'head', 'layers2']),
    batch: count,
    tokens: count,
    context: whole,
  }),
  v.object({ type: v.literal('placement'), id: count }),
]);

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
  }),
  v.object({
    type: v.literal('measured'),
    id: count,
    forwardMs: ms,
    backwardMs: ms,
    forwardInputsMs: ms,
    backwardInputsMs: ms,
    rssBytes: whole,
  }),
  v.object({ type: v.literal('skipped'), id: count, reason: v.picklist(['out-of-memory', 'failed']), detail: v.string() }),
  v.object({
    type: v.literal('placement'),
    id: count,
    operators: v.array(
      v.object({
        part,
        direction: v.picklist(['forward', 'backward']),
        operator: v.string(),
        provider: v.string(),
        nodes: whole,
        heavy: v.boolean(),
      }),
    ),
  }),
  v.object({ type: v.literal('failed'), id: count, message: v.string() }),
]);

/** @throws ValiError when `message` is no request. */
export function parseProfilerRequest(message: unknown): ProfilerRequest {
  return v.parse(request, message);
}

/** @throws ValiError when `message` is no reply. */
export function parseProfilerReply(message: unknown): ProfilerReply {
  return v.parse(reply, message);
}
