/** Time of one slice on one pipeline stage, in ms. */
export interface SliceTime {
  readonly forwardMs: number;
  readonly backwardMs: number;
}

/**
 * Cost of a slice of `tokens` tokens of each of `batch` sequences, after `context` earlier tokens of the same sequences (TeraPipe eq. 4).
 * Pure and deterministic; integers >= 1 for batch and tokens, >= 0 for context.
 */
export type SliceCost = (batch: number, tokens: number, context: number) => SliceTime;

/**
 * Measured slice times of batch 1 on one stage: `forwardMs[i][j]` for length `tokens[i]` after `contexts[j]`. Between points bilinear; outside
 * as `tableCost` says. Ascending axes.
 */
export interface CostTable {
  readonly tokens: readonly number[];
  readonly contexts: readonly number[];
  readonly forwardMs: readonly (readonly number[])[];
  readonly backwardMs: readonly (readonly number[])[];
}

/** What a time rests on, shown beside it. */
export interface CostProvenance {
  readonly kind: 'roofline' | 'table' | 'profile';
  /** One sentence. */
  readonly description: string;
  /** Half width of the error bar in percent (facts/time section 8), and why that wide. */
  readonly errorPercent: number;
  readonly errorBecause: string;
}
