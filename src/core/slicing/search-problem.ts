import type { SliceRows } from './slice-rows';

/**
 * What is minimised: the sum of all slices plus `weight` times the slowest, over batches of `sequences` sequences composed of chunks of
 * these kinds.
 */
export interface SearchProblem {
  readonly kinds: readonly SliceRows[];
  readonly sequences: number;
  readonly weight: number;
  /** What some plan is known to reach, ms; only plans at most as slow are looked for. `Infinity`: none known. */
  readonly capMs: number;
  /** A threshold under which good plans are likely. */
  readonly hintMs: number;
}
