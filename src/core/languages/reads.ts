import { anyOf, sentence, type Value } from '../sentence';
import type { SettingValue } from './text-edits';
import { own } from '../records';

/** A value; or what the flag wants instead; or nothing that the fact can hold. */
export type FlagOutcome<T> = { readonly value: T } | { readonly expects: Value } | { readonly silent: true };

/** How many words a flag takes and what they mean. Pure; words are without quotes. */
export interface FlagRead<T> {
  readonly words: 'none' | 'one' | 'many';
  readonly of: (words: readonly string[]) => FlagOutcome<T>;
  /** A path; its last name is enough. */
  readonly isPath?: true;
  /** The word that is written for a value, undefined for a setting that is removed; absent: the value itself. */
  readonly writes?: (value: SettingValue) => SettingValue;
}

const silent = { silent: true } as const;

/** Larger than any size of a run, and still exact. */
export const largestCount = 1e12;

/** A whole number, as Python's `int` reads it. */
export function count(minimum: number, maximum = largestCount): FlagRead<number> {
  const expects =
    maximum === largestCount ? sentence`a whole number from ${minimum} up` : sentence`a whole number from ${minimum} to ${maximum}`;
  return {
    words: 'one',
    of: ([written = '']) => {
      if (/^none$/i.test(written)) return silent;
      const value = /^[+-]?\d+(_\d+)*$/.test(written) ? Number(written.replaceAll('_', '')) : NaN;
      return value >= minimum && value <= maximum ? { value } : { expects };
    },
  };
}

/** The same; -1 stands for none. */
export const countOrNone: FlagRead<number> = {
  words: 'one',
  of: (words) => (words[0] === '-1' ? { value: 0 } : count(0).of(words)),
};

/** A count; 0 leaves it to something else, as Python's `if not size` does. */
export const countUnlessZero: FlagRead<number> = {
  words: 'one',
  of: (words) => (/^0+$/.test(words[0] ?? '') ? silent : count(1).of(words)),
};

/** A switch that sets `value`; a YAML `false` gives the opposite. */
export function on(value: boolean): FlagRead<boolean> {
  return { words: 'none', of: switchReader(value, { value: !value }) };
}

/** A switch that picks one of several; switched off it sets nothing. */
export function fixed<const T>(value: T): FlagRead<T> {
  return { words: 'none', of: switchReader(value, silent) };
}

function switchReader<T>(value: T, off: FlagOutcome<T>): FlagRead<T>['of'] {
  return ([written = 'true']) => {
    if (/^(true|yes|on|1)$/i.test(written)) return { value };
    return /^(false|no|off|0|none|null|)$/i.test(written) ? off : { expects: sentence`true or false` };
  };
}

/** A number above zero. */
export const positiveNumber: FlagRead<number> = {
  words: 'one',
  of: ([written = '']) => {
    const value = /^[+]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(written) ? Number(written) : NaN;
    return value > 0 && Number.isFinite(value) ? { value } : { expects: sentence`a number above 0` };
  },
};

/** A number of zero or more. */
export const amount: FlagRead<number> = {
  words: 'one',
  of: ([written = '']) => {
    const value = /^[+]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(written) ? Number(written) : NaN;
    return Number.isFinite(value) ? { value } : { expects: sentence`a number of 0 or more` };
  },
};

/** A share of the whole, from 0 to 1. */
export const share: FlagRead<number> = {
  words: 'one',
  of: ([written = '']) => {
    const value = /^[+]?(\d+\.?\d*|\.\d+)(e-?\d+)?$/i.test(written) ? Number(written) : NaN;
    return value >= 0 && value <= 1 ? { value } : { expects: sentence`a share from 0 to 1` };
  },
};

/** One of several words, in any case, translated; null stands for a word that is allowed and sets nothing. */
export function choice<const T extends string>(options: Readonly<Record<string, T | null>>): FlagRead<T> {
  return {
    words: 'one',
    of: ([written = '']) => {
      const found = Object.entries(options).find(([name]) => name === written.toLowerCase());
      if (found === undefined) return /^none$/i.test(written) ? silent : { expects: anyOf(Object.keys(options)) };
      return found[1] === null ? silent : { value: found[1] };
    },
    writes: (value) => wordFor(options, value),
  };
}

/** The first of the words that mean a value; a number where it is one. */
export function wordFor(words: Readonly<Record<string, unknown>>, value: SettingValue): string | number | undefined {
  const word = Object.keys(words).find((name) => own(words, name) === value);
  return word !== undefined && /^\d+$/.test(word) ? Number(word) : word;
}

/** One of several words as it is. */
export function keep(options: readonly string[]): FlagRead<string> {
  return {
    words: 'one',
    of: ([written = '']) => {
      if (options.includes(written)) return written === 'none' ? silent : { value: written };
      return /^none$/i.test(written) ? silent : { expects: anyOf(options) };
    },
  };
}

/** One word as written, such as a Python list expression. */
export const text: FlagRead<string> = {
  words: 'one',
  of: ([written = '']) => (written === '' ? { expects: sentence`a value` } : { value: written }),
};

/** All that follows, as written. */
export const texts: FlagRead<string> = {
  words: 'many',
  of: (words) => (words.join('') === '' ? { expects: sentence`a value` } : { value: words.join(' ') }),
};

/** `(127, 0)` or `127,0`: tokens before its own that attention sees; -1 is all of them. The window has its own too. */
export const window: FlagRead<number> = {
  words: 'many',
  of: (words) => {
    const found = /^\(?\s*(-?\d{1,12})\s*,?\s*(-?\d{1,12})?\s*\)?$/.exec(words.join(' '));
    if (found === null) return { expects: sentence`two whole numbers such as (128, 0)` };
    const value = Number(found[1]);
    return value > 0 ? { value: value + 1 } : silent;
  },
};

/** A list, in one word or in several. */
export const names: FlagRead<readonly string[]> = {
  words: 'many',
  of: (words) => ({ value: words.flatMap((entry) => entry.split(/[\s,[\]"']+/)).filter((entry) => entry !== '') }),
};

/** Whole numbers, one a word. */
export const wholes: FlagRead<readonly number[]> = {
  words: 'many',
  of: (words) =>
    words.length > 0 && words.every((word) => /^\d{1,6}$/.test(word)) ? { value: words.map(Number) } : { expects: sentence`whole numbers` },
};

/** Whole numbers in one word, with commas between them. */
export const numbers: FlagRead<readonly number[]> = {
  words: 'one',
  of: ([written = '']) => {
    const parts = written.split(',').map((part) => part.trim());
    return parts.length <= 10_000 && parts.every((part) => /^\d{1,6}$/.test(part))
      ? { value: parts.map(Number) }
      : { expects: sentence`whole numbers with commas between them` };
  },
};

/** One count, or several equal ones; different ones give no value. */
export const sameCount: FlagRead<number> = {
  words: 'many',
  of: (words) => (areCounts(words) && new Set(words).size > 1 ? silent : count(1).of(words)),
};

/** Several counts that are not the same, as they are written. */
export const differentCounts: FlagRead<string> = {
  words: 'many',
  of: (words) => {
    if (areCounts(words)) return new Set(words).size > 1 ? { value: words.join(' ') } : silent;
    const first = count(1).of(words);
    return 'value' in first ? silent : first;
  },
};

function areCounts(words: readonly string[]): boolean {
  return words.every((written) => /^\d{1,6}$/.test(written));
}

/** Whether a count is more than 0. */
export const any: FlagRead<boolean> = {
  words: 'one',
  of: (words) => {
    const outcome = count(0).of(words);
    return 'value' in outcome ? { value: outcome.value > 0 } : outcome;
  },
};

/** torchrun's `--nnodes`: a number, or `MIN:MAX`, which sets nothing unless both are the same; `4-8` of srun likewise. */
export const nodeCount: FlagRead<number> = {
  words: 'one',
  of: ([written = '']) => {
    const [, low, high = low] = /^(\d{1,9})(?:[:-](\d{1,9}))?$/.exec(written) ?? [];
    if (low === undefined || Number(low) < 1) return { expects: sentence`a number of nodes` };
    return low === high ? { value: Number(low) } : silent;
  },
};

/** `--nproc_per_node`: a number, or what the node has. */
export const processCount: FlagRead<number> = {
  words: 'one',
  of: (words) => (/^(gpu|auto|cpu|xpu|-1)$/.test(words[0] ?? '') ? silent : count(1).of(words)),
};

/** Slurm's `8`, `a100:8` or `gpu:a100:8`. */
export const deviceCount: FlagRead<number> = {
  words: 'one',
  of: ([written = '']) => {
    const found = /^(?:[a-z][\w.-]*:)*(\d{1,9})(?:\(|$)/i.exec(written);
    return found !== null && Number(found[1]) > 0 ? { value: Number(found[1]) } : silent;
  },
};

/** Tasks of Slurm or MPI; a single one gives no value: it is a launcher that starts the processes of all GPUs. */
export const taskCount: FlagRead<number> = {
  words: 'one',
  of: (words) => {
    const outcome = count(1).of(words);
    return 'value' in outcome && outcome.value === 1 ? silent : outcome;
  },
};
