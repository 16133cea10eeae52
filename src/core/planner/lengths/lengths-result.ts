import type { ScheduleName } from '../../domain/schedule-names';

/** A way to train documents of many lengths. */
export interface PolicySettings {
  /** Each padded, several packed into a sequence, or in chunks. */
  readonly way: 'pad' | 'pack' | 'chunks';
  readonly schedule: ScheduleName;
  /** Tokens of a chunk; the training length where documents are not cut in chunks. */
  readonly chunkTokens: number;
  /** How documents longer than a chunk are cut: every chunk as long, as ChunkFlow does, or of equal work. */
  readonly cut: 'equal' | 'equal-work';
}

/** A way to train documents of many lengths, over the global batches that may be drawn. Times are of whole steps, ms. */
export interface PolicyResult extends PolicySettings {
  readonly expectedMs: number;
  /** Of the mean of drawn steps; 0 where all were counted. */
  readonly standardErrorMs: number;
  /** 99 of 100 steps take no longer; of fewer draws the longest. */
  readonly worstMs: number;
  /** Of the documents, padding not counted, over the expected step. */
  readonly tokensPerSecond: number;
  /** Of a replica, on average. */
  readonly microBatches: number;
  /** Of the tokens that are computed those of documents. */
  readonly filled: number;
  /** Work of the fullest replica over the least that any assignment of these micro-batches can reach, on average; at least 1. */
  readonly overBound: number;
  /** Of the tightest stage, in the steps looked at: of the replica with the heaviest micro-batch and of that with the most tokens. */
  readonly peakBytes: number;
  readonly fits: boolean;
  /** It needs some of what is kept free for fragmentation: it may fit or not. */
  readonly tight: boolean;
}

/** What a step takes over a distribution of lengths: docs/model/lengths.md. */
export interface OverLengths {
  /** Lengths that differ, as given, and what they weigh. */
  readonly lengths: number;
  readonly documents: number;
  readonly meanTokens: number;
  readonly longestTokens: number;
  /** Documents longer than this are cut into several that do not attend to each other. */
  readonly trainingTokens: number;
  /** Of the documents those that are cut. */
  readonly cutShare: number;
  /** Global batches looked at, and whether they are all that there are. */
  readonly draws: number;
  readonly exact: boolean;
  /** Replicas that micro-batches are balanced over. */
  readonly replicas: number;
  /** Each way that can run. */
  readonly ways: readonly PolicyResult[];
}
