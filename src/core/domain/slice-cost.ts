import type { Sentence } from '../sentence';

/** Time of one slice on one pipeline stage, in ms. */
export interface SliceTime {
  readonly forwardMs: number;
  /** All of backward. */
  readonly backwardMs: number;
  /** The part of `backwardMs` that makes gradients of weights, which schedules that split backward put off. */
  readonly backwardWeightMs: number;
  /**
   * What the rest of backward also waits for, where gradients of weights are put off: copies from the host that they would have hidden.
   * Absent: nothing.
   */
  readonly splitWaitMs?: number;
  /**
   * Of both passes, how long the device waits for the host to issue operations; only where stages wait for their sends, which the host does
   * not wait for. Absent: not at all.
   */
  readonly issueWaitMs?: number;
}

/**
 * Cost of a slice of `tokens` tokens of each of `batch` sequences, after `context` earlier tokens of the same sequences (TeraPipe eq. 4).
 * Pure and deterministic; integers >= 1 for batch and tokens, >= 0 for context. `documents`: lengths, which add up to `tokens`, of the
 * documents that are packed in the slice after no context, each of which attends only to itself (docs/model/lengths.md, A pack); absent:
 * one.
 */
export type SliceCost = (batch: number, tokens: number, context: number, documents?: readonly number[]) => SliceTime;

/** The same with backward as a whole. */
export type WholeSliceTime = Omit<SliceTime, 'backwardWeightMs' | 'splitWaitMs' | 'issueWaitMs'>;

/** A cost measured, backward as a whole. */
export type MeasuredCost = (batch: number, tokens: number, context: number) => WholeSliceTime;

/** Measured times, times `share`, whose backward is split in the ratio of the analytic model for the same slice. */
export function splitLike(measured: MeasuredCost, analytic: SliceCost, share = 1): SliceCost {
  return (batch, tokens, context, documents) => {
    const { forwardMs, backwardMs } = measuredPackTime(measured, batch, tokens, context, documents);
    const like = analytic(batch, tokens, context, documents);
    const ratio = like.backwardMs > 0 ? like.backwardWeightMs / like.backwardMs : 0;
    return { forwardMs: share * forwardMs, backwardMs: share * backwardMs, backwardWeightMs: share * backwardMs * ratio };
  };
}

/** What was measured of whole slices, less what each document of a pack would take for the keys of those before it. */
function measuredPackTime(
  measured: MeasuredCost,
  batch: number,
  tokens: number,
  context: number,
  documents: readonly number[] = [],
): WholeSliceTime {
  let { forwardMs, backwardMs } = measured(batch, tokens, context);
  let before = 0;
  for (const length of documents) {
    if (before > 0) {
      const [after, withoutContext] = [measured(batch, length, before), measured(batch, length, 0)];
      forwardMs -= Math.max(0, after.forwardMs - withoutContext.forwardMs);
      backwardMs -= Math.max(0, after.backwardMs - withoutContext.backwardMs);
    }
    before += length;
  }
  return { forwardMs: Math.max(0, forwardMs), backwardMs: Math.max(0, backwardMs) };
}

/**
 * Measured slice times of batch 1 on one stage: `forwardMs[i][j]` for length `tokens[i]` after `contexts[j]`. Between points bilinear;
 * outside as `tableCost` does. Ascending axes.
 */
export interface CostTable {
  readonly tokens: readonly number[];
  readonly contexts: readonly number[];
  readonly forwardMs: readonly (readonly number[])[];
  readonly backwardMs: readonly (readonly number[])[];
}

/** What a time is based on, shown next to it. */
export interface CostProvenance {
  readonly kind: 'roofline' | 'table' | 'profile';
  /** One sentence. */
  readonly description: Sentence;
  /** What a step takes over its prediction: the range of measured runs of its kind, predicted without their source. */
  readonly range: readonly [low: number, high: number];
  /** Larger half of that range in percent (docs/model/time.md, Error bars), and why that wide. */
  readonly errorPercent: number;
  readonly errorBecause: Sentence;
}

/**
 * The free numbers of the analytic model (docs/model/time.md, Constants). All are shown in the panel and can be set in `terapipe.json`
 * under `cost`.
 */
export interface CostConstants {
  /** q: cube root of m n k at which a GEMM reaches half its best efficiency. */
  readonly gemmHalfSize: number;
  /** l: no listed operation takes less, microseconds. */
  readonly issueFloorUs: number;
  /** ebw: fraction of the memory bandwidth that element-wise kernels reach. */
  readonly memoryEfficiency: number;
  /** Measured step of the optimizer, of each parameter that a rank updates, ns; absent: by its bytes. */
  readonly optimizerNsPerParameter?: number;
}

/** Fitted on 45 multi-node A100 runs of vTrain (MICRO 2024 artefact); `memoryEfficiency` was held fixed. */
export const defaultConstants: CostConstants = { gemmHalfSize: 1970, issueFloorUs: 88.5, memoryEfficiency: 0.85 };
