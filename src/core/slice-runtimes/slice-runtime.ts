import type { SplitRule } from '../domain/scheme';

/** A flag by `flagKey` and the word that it must have; null: a switch. */
export interface FlagWord {
  readonly flag: string;
  readonly word: string | null;
}

/** What a runtime does not run together with slices. */
export type SliceLimit = 'micro-batch' | 'context' | 'recompute' | 'experts';

/** A fork of Megatron-LM that runs 1F1B over token slices: a folder for each, which `registry.ts` lists. Flags are by `flagKey`. */
export interface SliceRuntime {
  /** As `terapipe export --to` takes it. */
  readonly id: string;
  /** As its makers call it. */
  readonly name: string;
  /** Where its source is, at which commit, and the lines that the rest here rests on. */
  readonly source: string;
  /** What switches slices on, where their number does not. */
  readonly on: FlagWord | null;
  /** The flag of the number of slices, and how many there are where it is left out. */
  readonly splits: { readonly flag: string; readonly usual: number };
  /** The flag of the rule, with the word for each; null: only equal slices. Left out it is `average`. */
  readonly rule: { readonly flag: string; readonly words: Readonly<Record<SplitRule, string>> } | null;
  /** The flag of a list of lengths, and the word of `rule` that has it read; null: there is none. */
  readonly lengths: FlagWord | null;
  /** Flags without which it stops where there are slices. */
  readonly needs: readonly FlagWord[];
  /** Flags of newer versions that it does not know, with the value that is as good as none; null: there is no such value. */
  readonly lacks: Readonly<Record<string, string | null>>;
  readonly limits: readonly SliceLimit[];
  /** The end of the path of the file whose function returns the lengths. */
  readonly splitsFile: string | null;
}
