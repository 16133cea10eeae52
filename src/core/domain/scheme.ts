/** One chunk of the batch: `batch` sequences cut into `tokens` (ascending position). The paper writes (b, [l1, l2, ...]). */
export interface BatchSlice {
  readonly batch: number;
  readonly tokens: readonly number[];
  /**
   * TeraPipe's pipeline drains after this chunk: it and all chunks since the round before run backward before the next goes forward
   * (gradient accumulation, appendix of the paper). The last chunk of a scheme ends a round by itself.
   */
  readonly endsRound?: true;
  /**
   * Lengths of the documents that are packed in the one slice of a chunk of one sequence, each of which attends only to itself; absent:
   * one document.
   */
  readonly documents?: readonly number[];
}

/** The paper's `[(b, [l...]), ...]`: how the whole per-replica batch is cut. */
export type Scheme = readonly BatchSlice[];

/** Chunks of each round of filling and draining the pipeline: one round of all where none is ended. */
export function roundsOf(scheme: Scheme): number[] {
  const rounds: number[] = [];
  let chunks = 0;
  scheme.forEach(({ endsRound }, index) => {
    chunks++;
    if (endsRound !== true && index < scheme.length - 1) return;
    rounds.push(chunks);
    chunks = 0;
  });
  return rounds;
}
