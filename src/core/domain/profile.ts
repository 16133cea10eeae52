import type { LinkSpec, Precision } from './cluster';

/**
 * One Transformer layer and the two ends of the model as one rank of a tensor-parallel group runs them: what a profile is of. Counts are of
 * the rank.
 */
export interface LayerShape {
  /** Width of the residual stream, not divided. */
  readonly hidden: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  /** Feed-forward width; of one expert when there are experts. */
  readonly ffn: number;
  /** SiLU(gate) * up, as SwiGLU; otherwise GELU. */
  readonly gatedMlp: boolean;
  readonly norm: 'layernorm' | 'rmsnorm';
  readonly rotary: boolean;
  readonly qkvBias: boolean;
  readonly attentionOutputBias: boolean;
  readonly mlpBias: boolean;
  /** RMSNorm of each head of q and k. */
  readonly qkNorm: boolean;
  /** Routed experts held by the rank and how many each token visits; null for a dense layer. */
  readonly experts: { readonly count: number; readonly active: number } | null;
  /** Columns of the head and rows of the embedding; 0: the model has neither. */
  readonly vocab: number;
  /** The embedding adds a learned position table. */
  readonly learnedPositions: boolean;
}

/** Execution providers of ONNX Runtime in the order they are tried; TensorRT is not used, since it recompiles for every shape. */
export const providerNames = ['cuda', 'dml', 'coreml', 'webgpu', 'cpu'] as const;
export type ProviderName = (typeof providerNames)[number];

/** What a slice was run on. */
export interface ProfileDevice {
  /** `software`: a GPU interface drawn by the CPU (SwiftShader, llvmpipe); its times mean nothing for a GPU. */
  readonly kind: 'gpu' | 'cpu' | 'software';
  /** As the driver names it: `NVIDIA H100 80GB HBM3`, `AMD EPYC 7763 64-Core Processor`. */
  readonly name: string;
  readonly memoryBytes: number | null;
  readonly driver: string | null;
}

/** A slice of `tokens` tokens of each of `batch` sequences after `context` earlier ones. Integers, context >= 0, the others >= 1. */
export interface Cell {
  readonly batch: number;
  readonly tokens: number;
  readonly context: number;
}

/** What was timed: one layer, or an end of the model (context 0 there). */
export type ProfilePart = 'layer' | 'embedding' | 'head';

/** Times of one cell: the least over rounds that took turns with the other cells, so that a burst of noise does not hit only one cell. */
export interface Sample extends Cell {
  readonly forwardMs: number;
  readonly backwardMs: number;
  readonly rounds: number;
  /** Never used in the fit, only to judge it. */
  readonly holdOut: boolean;
}

/** A cell that could not be run. */
export interface SkippedCell extends Cell {
  readonly part: ProfilePart;
  readonly reason: 'out-of-memory' | 'failed';
  readonly detail: string;
}

/**
 * Time of a slice, ms, with n = batch * tokens:
 *   rows(n) + square * batch * tokens^2 + (context > 0 ? constant + perRow n + perContext batch context + perRowContext n context +
 *   perContextSquare batch context^2 : 0),
 * `rows` interpolated linearly in the table (level below its first length; beyond the last its last line, level if that falls). With
 * context never less than half of the time without. The table keeps the steps of tile sizes; the rest is TeraPipe's bilinear context term
 * (section 3.4) and one square term that is 0 unless it earns its place on samples left out in turn.
 */
export interface TimeFit {
  readonly rows: { readonly tokens: readonly number[]; readonly ms: readonly number[] };
  readonly square: number;
  readonly context: {
    readonly constant: number;
    readonly perRow: number;
    readonly perContext: number;
    readonly perRowContext: number;
    readonly perContextSquare: number;
  };
}

/** Forward and backward of one part. */
export interface PartFit {
  readonly forward: TimeFit;
  readonly backward: TimeFit;
}

/** Relative error of the layer's fit on cells held out of it, percent. */
export interface FitError {
  readonly meanPercent: number;
  readonly maxPercent: number;
  /** Cells it was judged on. */
  readonly cells: number;
  /** Measured on cells kept apart, or by leaving each sample out in turn where there were none (imported times). */
  readonly method: 'hold-out' | 'leave-one-out';
}

/**
 * What launching the nodes of a layer takes: no slice is shorter, however few its tokens, unless what runs it launches them otherwise. The
 * nodes are those of a slice's graph on the provider, without those that cut its operands.
 */
export interface LaunchFloor {
  /** A node that does nothing, and a GEMM of nothing. */
  readonly perNodeUs: number;
  readonly perProductUs: number;
  readonly forwardMs: number;
  readonly backwardMs: number;
}

/** What a trainer measured in addition to its slices, which a plan would otherwise assume. */
export interface TrainerTimes {
  readonly sends: NonNullable<LinkSpec['sends']>;
  /** All-reduces inside a node, by ranks. */
  readonly allReduces: readonly { readonly ranks: number; readonly latencyUs: number; readonly busGBps: number }[];
  /** Gradients zeroed and a step of Adam, of each parameter of a rank. */
  readonly optimizerNsPerParameter: number | null;
  /** The part of the backward that makes gradients of weights. */
  readonly weights: { readonly layer: TimeFit; readonly head: TimeFit | null };
}

/** Measured slice times of one layer shape on one device, with what fits them. Plain data; stored as JSON. Times in ms, memory in bytes. */
export interface Profile {
  readonly version: 1;
  readonly kind: 'terapipe-profile';
  /** `partial`: something stopped the measuring; the samples are good, `error` explains why there are no more. */
  readonly status: 'complete' | 'partial';
  readonly error: string | null;
  /** ISO 8601, UTC: `2026-11-21T07:00:00.000Z`. */
  readonly measuredAt: string;
  readonly source: 'onnxruntime' | 'imported' | 'pytorch';
  readonly device: ProfileDevice;
  /** Null for imported times. */
  readonly provider: ProviderName | null;
  /** `onnxruntime`, `terapipe`, `node`, `os`, `cuda`, ... */
  readonly versions: Readonly<Record<string, string>>;
  /** Of the model, for the eye; the shape decides. */
  readonly title: string;
  readonly tensor: number;
  readonly shape: LayerShape;
  readonly precision: Precision;
  /** Whether products of fp32 ran in TF32 on CUDA; null in another precision, on other providers, and in profiles that do not record it. */
  readonly tf32: boolean | null;
  /** Null where it was not measured. */
  readonly launches: LaunchFloor | null;
  /** Longest sequence (context + tokens) and largest batch that were measured. */
  readonly sequenceLength: number;
  readonly largestBatch: number;
  /** Operators that ran the attention. */
  readonly attention: { readonly forward: string; readonly backward: string };
  /** CPU threads inside an operator; null where the provider decides. */
  readonly threads: number | null;
  /** Of a profile that the trainer itself measured; absent: slices only. */
  readonly trainer?: TrainerTimes;
  readonly samples: Readonly<Record<ProfilePart, readonly Sample[]>>;
  readonly skipped: readonly SkippedCell[];
  /** Time of two layers over time of one, forward and backward together: 2 when layers scale linearly. Null when not checked. */
  readonly twoLayerRatio: number | null;
  /** Null while there are too few samples. */
  readonly fit: { readonly layer: PartFit; readonly embedding: PartFit | null; readonly head: PartFit | null } | null;
  readonly errors: { readonly forward: FitError; readonly backward: FitError } | null;
  readonly seconds: number;
  /** Sentences on what to distrust: noise, drift, heavy nodes on the CPU, a software adapter. */
  readonly warnings: readonly string[];
}

/**
 * What a profile in fp16 adds to the half width of a plan in bf16: products run at one rate, but the two draw different power, and under a
 * power limit clocks differ. Assumed.
 */
export const otherPrecisionPercent = 5;

/** A profile and the file it was read from, by whatever identity the face uses. */
export interface NamedProfile {
  readonly file: string;
  readonly profile: Profile;
}
