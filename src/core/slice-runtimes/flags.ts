import type { SplitRule } from '../domain/scheme';
import { sliceRuntimes } from './registry';
import { rulesOfFlags, type FlagWord, type SliceRuntime } from './slice-runtime';

const unique = (flags: readonly string[]): readonly string[] => [...new Set(flags)];

/** The flags of all runtimes, by what they say. */
export const sliceFlags: {
  readonly splits: readonly string[];
  /** Words of each flag of a rule, and what they mean. */
  readonly rules: ReadonlyMap<string, Readonly<Record<string, SplitRule | 'list' | null>>>;
  readonly lengths: readonly string[];
  /** Those that switch slices on, or that slices need. */
  readonly others: readonly FlagWord[];
} = {
  splits: unique(sliceRuntimes.map(({ splits }) => splits.flag)),
  rules: new Map(unique(sliceRuntimes.flatMap(({ rule }) => rule?.flag ?? [])).map((flag) => [flag, flagWordRules(flag)])),
  lengths: unique(sliceRuntimes.flatMap(({ lengths }) => lengths?.flag ?? [])),
  others: sliceRuntimes
    .flatMap(({ on, needs }) => [...(on === null ? [] : [on]), ...needs])
    .filter(({ flag }) => flag !== 'use-flash-attn'),
};

function flagWordRules(flag: string): Readonly<Record<string, SplitRule | 'list' | null>> {
  const words: Record<string, SplitRule | 'list' | null> = {};
  for (const { rule, lengths } of sliceRuntimes) {
    if (rule?.flag !== flag) continue;
    for (const [name, word] of Object.entries(rule.words)) words[word] = name as SplitRule;
    if (lengths?.word !== undefined && lengths.word !== null) words[lengths.word] = 'list';
    for (const word of rule.unread ?? []) words[word] = null;
  }
  return words;
}

/** Which runtime flags ask for slices of, and what they lack for it. */
interface SlicesOfFlags {
  readonly runtime: SliceRuntime;
  /** The flag that sets it. */
  readonly at: string;
  /** As they are written: `--transformer-impl local`. */
  readonly missing: readonly string[];
}

/** A flag as far as it matters here. */
interface FlagWords {
  readonly words: readonly { readonly text: string | null }[];
}

/** The runtime that runs slices with these flags, by `flagKey`; null: none is asked for. */
export function readSliceFlags(flags: ReadonlyMap<string, FlagWords>): SlicesOfFlags | null {
  const runtime = sliceRuntimes.find((each) => isAsked(flags, each));
  // a schedule by name that is another one runs no slices
  if (runtime === undefined || (runtime.on === null && flags.has('schedule-method'))) return null;
  const at = flags.has(runtime.splits.flag) ? runtime.splits.flag : (runtime.on?.flag ?? runtime.splits.flag);
  return { runtime, at, missing: runtime.needs.filter((need) => !isGiven(flags, need)).map(asWritten) };
}

/** Whether flags switch a runtime on. One whose rules are read as another runtime's needs a list. */
function isAsked(flags: ReadonlyMap<string, FlagWords>, runtime: SliceRuntime): boolean {
  const { on, splits, lengths } = runtime;
  if (on !== null) return isGiven(flags, on);
  return flags.has(splits.flag) && (rulesOfFlags(runtime).length > 0 || (lengths !== null && flags.has(lengths.flag)));
}

function isGiven(flags: ReadonlyMap<string, FlagWords>, { flag, word }: FlagWord): boolean {
  const given = flags.get(flag);
  if (given === undefined) return false;
  const [first] = given.words;
  if (first?.text === null) return true;
  return word === null ? !/^(false|no|off|0)$/i.test(first?.text ?? '') : first?.text?.toLowerCase() === word;
}

/** `--schedule-method seq1f1b`. */
function asWritten({ flag, word }: FlagWord): string {
  return `--${flag}${word === null ? '' : ` ${word}`}`;
}
