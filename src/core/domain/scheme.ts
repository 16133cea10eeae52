import { counted, sentence, type Sentence } from '../sentence';

/** One chunk of the batch: `batch` sequences cut into `tokens` (ascending position). The paper writes (b, [l1, l2, ...]). */
export interface BatchSlice {
  readonly batch: number;
  readonly tokens: readonly number[];
  /**
   * TeraPipe's pipeline drains after this chunk: it and all chunks since the round before run backward before the next goes forward
   * (gradient accumulation, appendix of the paper). The last chunk of a scheme always ends a round.
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
export function chunksPerRound(scheme: Scheme): number[] {
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

/** Rules by which runtimes cut a sequence themselves: into equal slices, or slices of equal arithmetic (Seq1F1B's `uniform_comp`). */
export const splitRules = ['average', 'equal-work'] as const;
export type SplitRule = (typeof splitRules)[number];

/** How a runtime is set to cut every sequence, all of them alike. */
export interface SequenceSplit {
  /** Id of the runtime, as `slice-runtimes` lists them. */
  readonly runtime: string;
  readonly slices: number;
  /** `list`: into `lengths`. */
  readonly rule: SplitRule | 'list';
  /** Tokens of each slice; empty unless a list is given. */
  readonly lengths: readonly number[];
  /** Width of the feed-forward that the rule counts; absent: the model's. */
  readonly ffn?: number;
}

/** `8 equal slices`, `5 slices of equal work`, `6 slices`. */
export function splitName({ slices, rule }: Pick<SequenceSplit, 'slices' | 'rule'>): Sentence {
  switch (rule) {
    case 'average':
      return sentence`${slices} equal slices`;
    case 'equal-work':
      return sentence`${slices} slices of equal work`;
    case 'list':
      return counted(slices, 'slice');
  }
}

/** A length of prompts or sequences, and how often it comes. */
export interface LengthShare {
  readonly tokens: number;
  readonly count: number;
}

/** Lengths as a config writes them. */
export function lengthShares(written: readonly (readonly [tokens: number, count: number])[]): readonly LengthShare[] {
  return written.map(([tokens, count]) => ({ tokens, count }));
}
