import type { Fact, FactName, LauncherFile } from '../../run/facts';
import type { TextRange } from '../../domain/located';
import { say, sentence, type Sentence } from '../../sentence';
import { isStartFact } from '../writing/desired-setting';
import type { Remark } from '../writing/remarks';
import { flagKey } from './megatron-flags';
import { megatronFlags } from './written-keys';

export const flagsBy: Partial<Record<FactName, readonly string[]>> = megatronFlags;

/** A word that is one variable or argument and nothing else: `$TP`, `${1}`. It matches `$10` whole, which bash reads as `$1` and a 0. */
export const variable = /^\$\{?(\w+)\}?$/;

export interface OpenFlag {
  readonly range: TextRange;
  readonly written: string;
}

/** The reader remarks on every flag whose value only the run knows, at the word it depends on. */
export function openFlags({ file, remarks, text }: LauncherFile): ReadonlyMap<FactName, OpenFlag> {
  const found = new Map<FactName, OpenFlag>();
  for (const { code, message, place } of remarks) {
    const [name] = message.values;
    if (code !== 'flag-unknown-value' || typeof name !== 'string' || place.file !== file) continue;
    const key = flagKey(name);
    const fact = Object.entries(flagsBy).find(([, names]) => names.some((flag) => flagKey(flag) === key))?.[0];
    const { range } = place;
    if (fact !== undefined) found.set(fact as FactName, { range, written: text.slice(range.start, range.end) });
  }
  return found;
}

/** A flag whose value depends on an input of the script. */
interface InputFlag {
  readonly what: Sentence;
  readonly flag: string;
  readonly value: string;
  /** What is known of the input, with all the flags that depend on it. */
  readonly reason: (flags: readonly InputFlag[]) => Sentence;
}

/**
 * Settings that whoever starts a script may give by an argument, or has to give by a variable, as they did before: what is given wins over
 * a default that was written, and an argument that was replaced has no effect where nothing else takes it. One remark for each input.
 */
export function inputs(before: LauncherFile, after: LauncherFile): readonly Remark[] {
  const open = openFlags(before);
  const byInput = new Map<string, InputFlag[]>();
  for (const name of Object.keys(after.facts) as FactName[]) {
    const [old, next] = [before.facts[name], after.facts[name]] as (Fact<unknown> | undefined)[];
    if (isStartFact(name) || next?.source.kind !== 'file' || next.source.place.file !== after.file) continue;
    const opened = open.get(name);
    if (opened === undefined && JSON.stringify(old?.value) === JSON.stringify(next.value)) continue;
    const value = Array.isArray(next.value) ? next.value.join(' ') : say(sentence`${next.value as string | number}`);
    const input = inputFor(before, after, opened, next.source.place.range);
    if (input === null) continue;
    const key = say(input.what);
    byInput.set(key, [...(byInput.get(key) ?? []), { ...input, flag: `${next.name ?? name} ${value}`, value }]);
  }
  return [...byInput.values()].flatMap((flags) =>
    flags.slice(0, 1).map(({ what, reason }): Remark => ({ what, reason: reason(flags), isWhole: true, isInput: true })),
  );
}

/** What the value of a flag depends on. @param opened the flag before; left out: it was known. @param range of the value now. */
function inputFor(
  before: LauncherFile,
  after: LauncherFile,
  opened: OpenFlag | undefined,
  range: TextRange,
): Pick<InputFlag, 'what' | 'reason'> | null {
  const [, kept] = /\$\{(\w+):?-["']?$/.exec(after.text.slice(0, range.start)) ?? [];
  if (kept !== undefined && /^\d/.test(kept)) return defaulted(after, kept, range.start);
  const name = variable.exec(opened?.written ?? '')?.[1];
  if (opened === undefined || name === undefined) return null;
  if (/^\d/.test(name)) return replacedArgument(before, after, opened);
  return {
    what: sentence`${name}`,
    reason: (flags) => sentence`${name} of the environment wins over ${listed(flags)}: start the script without it`,
  };
}

/** An argument with a default, which is the new value now. */
function defaulted(file: LauncherFile, number: string, at: number): Pick<InputFlag, 'what' | 'reason'> {
  const word = `\${${number}}`;
  const line = lineNumber(file.text, at);
  if (!isOfScript(file, at))
    return { what: sentence`${word} in line ${line}`, reason: (flags) => sentence`${word}, where it is given, wins over ${listed(flags)}` };
  return {
    what: sentence`argument ${number}`,
    reason: (flags) => {
      const [value, ...others] = new Set(flags.map((each) => each.value));
      return value === undefined || others.length > 0
        ? sentence`argument ${number} of the script wins over ${listed(flags)}: leave it out if it is the last`
        : sentence`argument ${number} of the script wins over ${listed(flags)}: give ${value} there, or leave it out if it is the last`;
    },
  };
}

/** An argument that the new value is written in place of. */
function replacedArgument(before: LauncherFile, after: LauncherFile, { range, written }: OpenFlag): Pick<InputFlag, 'what' | 'reason'> {
  // more than one digit needs braces: `$10` is `$1` followed by 0
  const number = /^\$(?:\{(\d+)|(\d))/.exec(written)?.slice(1).find(Boolean) ?? '';
  if (isOfScript(before, range.start) && !takesArgument(after.text, number))
    return {
      what: sentence`argument ${number}`,
      reason: (flags) =>
        flags.length > 1
          ? sentence`argument ${number} of the script no longer has an effect: ${listed(flags)} are in the file`
          : sentence`argument ${number} of the script no longer has an effect: ${listed(flags)} is in the file`,
    };
  const line = lineNumber(before.text, range.start);
  return {
    what: sentence`${written} in line ${line}`,
    reason: (flags) => sentence`${written} in line ${line} of the old file is replaced, for ${listed(flags)}`,
  };
}

function listed(flags: readonly InputFlag[]): string {
  return flags.map(({ flag }) => flag).join(', ');
}

function lineNumber(text: string, at: number): number {
  return text.slice(0, at).split('\n').length;
}

/** Lines of comments, and the comments that `filledIn` writes. */
const comments = /^[ \t]*#.*$|[ \t]# in place of \$.*$/gm;
const shifts = /(?<![\w$.{/-])(?:(?:shift|set[ \t]+--?)(?![\w=.-])|set[ \t]+[^\s+;|&-])/;

/** Whether `$1` at a place is the argument of that number that the script was started with: neither shifted nor of a function. */
function isOfScript({ text, otherArguments = [] }: LauncherFile, at: number): boolean {
  return !shifts.test(text.replace(comments, '')) && !otherArguments.some(({ start, end }) => start <= at && at < end);
}

/** Whether a script may still take an argument: by its number, with all others, or by how many there are. */
function takesArgument(text: string, number: string): boolean {
  const own = number.length > 1 ? `\\$\\{[#!]?${number}\\b` : `\\$(?:${number}|\\{[#!]?${number}\\b)`;
  return new RegExp(`${own}|\\$\\{?[#!]?[@*]|\\$(?:#|\\{#\\})|\\bgetopts\\b|\\bBASH_ARGV\\b`).test(text.replace(comments, ''));
}
