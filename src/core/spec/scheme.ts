/** One chunk of the batch: `batch` sequences cut into `tokens` (ascending position). The paper writes (b, [l1, l2, ...]). */
export interface BatchSlice {
  readonly batch: number;
  readonly tokens: readonly number[];
}

/** The paper's `[(b, [l...]), ...]`: how the whole per-replica batch is cut. */
export type Scheme = readonly BatchSlice[];
