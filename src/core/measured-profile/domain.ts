/** What the experiment may ask for. */
export interface Domain {
  /** Longest slice. */
  readonly tokens: number;
  /** Longest context + tokens. */
  readonly sequence: number;
  /** Slice lengths and contexts are multiples of this; the longest slice may be none. */
  readonly unit: number;
  /** Batch sizes, ascending, starting with 1. */
  readonly batches: readonly number[];
}
