import { splitRules, type SplitRule } from '../domain/scheme';

/** Flags that a runtime does not know, in lines of names: no value of them is as good as none. */
export function noSuchFlags(...lines: readonly string[]): Readonly<Record<string, null>> {
  return Object.fromEntries(lines.flatMap((line) => line.split(' ')).map((flag) => [flag, null]));
}

/** Flags that Megatron-LM has had since core 0.13: forks of an earlier version know none of them. */
export const flagsSinceCore13 = {
  'num-distributed-optimizer-instances': '1',
  ...noSuchFlags(
    'activation-func-clamp-value attention-output-gate cpu-offloading-num-layers cuda-graph-impl experimental-attention-variant fp4-format',
    'glu-linear-offset hybrid-layer-pattern linear-attention-freq linear-conv-kernel-dim linear-key-head-dim linear-num-key-heads',
    'linear-num-value-heads linear-value-head-dim mamba-num-heads moe-apply-probs-on-input moe-flex-dispatcher-backend moe-latent-size',
    'moe-shared-expert-gate no-rope-freq no-yarn-correction-range-round-to-int overlap-moe-expert-parallel-comm',
    'pipeline-model-parallel-layout quick-geglu softmax-type window-attn-skip-freq window-size yarn-beta-fast yarn-beta-slow',
    'yarn-original-max-position-embeddings',
  ),
};

/** A flag by `flagKey` and the word that it must have; null: a switch. */
export interface FlagWord {
  readonly flag: string;
  readonly word: string | null;
}

/**
 * What a runtime does not run together with slices. `gated-width`: it computes the width of a gated feed-forward itself, whatever the
 * flags set.
 */
export type SliceLimit =
  'micro-batch' | 'context' | 'recompute' | 'core-recompute' | 'experts' | 'latent' | 'tied' | 'unfused' | 'gated-width';

/** A fork of Megatron-LM that runs 1F1B over token slices: a folder for each, which `registry.ts` lists. Flags are by `flagKey`. */
export interface SliceRuntime {
  /** As `terapipe export --to` takes it. */
  readonly id: string;
  /** As its makers call it. */
  readonly name: string;
  /** Its repository and commit, whose flags are written. */
  readonly version: string;
  /** The files and lines there that this record is taken from. */
  readonly source: string;
  /** What switches slices on, where their number does not. */
  readonly on: FlagWord | null;
  /** The flag of the number of slices, and how many there are where it is left out. */
  readonly splits: { readonly flag: string; readonly usual: number };
  /** The flag of the rule; null: only equal slices. */
  readonly rule: RuleFlag | null;
  /**
   * The flag of a list of lengths, the word of `rule` that has it read, and the number of tokens that must divide each length where it
   * divides the sequence; null: it takes no list.
   */
  readonly lengths: (FlagWord & { readonly multiple: number }) | null;
  /** Flags without which it stops where there are slices. */
  readonly needs: readonly FlagWord[];
  /**
   * Flags of Megatron-LM that it does not know, or that change nothing in it, with the value that is as good as none; null: there is no
   * such value.
   */
  readonly lacks: Readonly<Record<string, string | null>>;
  /** Its own names of Megatron-LM's flags. */
  readonly spells: Readonly<Record<string, string>>;
  /** Values of flags for which it takes fewer than Megatron-LM does; of a flag that no plan decides the first is written. */
  readonly takes: Readonly<Record<string, readonly string[]>>;
  readonly limits: readonly SliceLimit[];
  /** Where in its source a limit is, and what it does there; absent of limits that its documentation has. */
  readonly lines?: Readonly<Partial<Record<SliceLimit, string>>>;
  /** Hardware that no plan is for: scripts are read and edited, and no new one is written; null: GPUs. */
  readonly hardware: SliceHardware | null;
}

interface RuleFlag {
  readonly flag: string;
  /** The word for each rule that is written; without any only lists are. */
  readonly words: Readonly<Partial<Record<SplitRule, string>>>;
  /** What it is where the flag is left out. */
  readonly usual: SplitRule;
  /** Words of rules that depend on what no file shows. */
  readonly unread?: readonly string[];
}

interface SliceHardware {
  readonly name: string;
  /** What starts its processes. */
  readonly launcher: string;
  /** Tokens of a slice below which its makers measured no gain. */
  readonly shortest: number;
}

/** Rules that the flags of a runtime can be set to. */
export function rulesOfFlags({ rule }: Pick<SliceRuntime, 'rule'>): readonly SplitRule[] {
  return rule === null ? ['average'] : splitRules.filter((each) => rule.words[each] !== undefined);
}
