import { counted, sentence, type Sentence } from '../sentence';

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
