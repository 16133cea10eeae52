import * as v from 'valibot';
import { formatNumber } from '../../format';
import { anyOf, sentence, type Sentence, type Value } from '../../sentence';

/** The type of a value that files give in ways of their own: their readers check it. */
export interface ReadType<T> {
  /** The largest number that is read from any file: far beyond every run, and small enough for lists of one entry each. */
  readonly limit?: number;
  /** Only for the compiler. */
  readonly of?: T;
}

export const text: ReadType<string> = {};
export const flag: ReadType<boolean> = {};
export const amount: ReadType<number> = {};
export const numbers: ReadType<readonly number[]> = {};
export const texts: ReadType<readonly string[]> = {};

/** A whole number that is refused above `limit`. */
export function count(limit: number): ReadType<number> {
  return { limit };
}

/** Values of a type of their own. */
export function valueOf<T>(): ReadType<T> {
  return {};
}

/**
 * What a field may hold: the check, and the same in words (`a whole number from 1 to 10,000`). The one place where values from outside are
 * judged.
 */
export interface Rule<T> extends ReadType<T> {
  readonly schema: v.GenericSchema<unknown, T>;
  readonly type: 'number' | 'string' | 'boolean' | 'list';
  readonly expects: Value;
  /** The words that it takes, which are read in any case. */
  readonly words?: readonly string[];
  /** Other words for them, and what to do where a word means another setting. */
  readonly meant?: Readonly<Record<string, string | Sentence>>;
}

/** A whole number between two bounds, both included. */
export function integer(minimum: number, maximum: number): Rule<number> {
  return {
    schema: v.pipe(v.number(), v.integer(), v.minValue(minimum), v.maxValue(maximum)),
    type: 'number',
    limit: maximum,
    expects: sentence`a whole number from ${formatNumber(minimum)} to ${formatNumber(maximum)}`,
  };
}

/** A number above zero, at most `maximum`. */
export function positive(maximum: number): Rule<number> {
  return {
    schema: v.pipe(v.number(), v.gtValue(0), v.maxValue(maximum)),
    type: 'number',
    expects: sentence`a number above 0, at most ${formatNumber(maximum)}`,
  };
}

/** A fraction: above 0 and below 1. */
export const fraction: Rule<number> = {
  schema: v.pipe(v.number(), v.gtValue(0), v.ltValue(1)),
  type: 'number',
  expects: sentence`a number above 0 and below 1`,
};

/** A number from 0 to `maximum`. */
export function nonNegative(maximum: number): Rule<number> {
  return {
    schema: v.pipe(v.number(), v.minValue(0), v.maxValue(maximum)),
    type: 'number',
    expects: sentence`a number from 0 to ${formatNumber(maximum)}`,
  };
}

export const boolean: Rule<boolean> = { schema: v.boolean(), type: 'boolean', expects: sentence`true or false` };

/** A string that is not empty and no longer than any path. */
export const path: Rule<string> = {
  schema: v.pipe(v.string(), v.minLength(1), v.maxLength(4096)),
  type: 'string',
  expects: sentence`a path`,
};

/** The same, or a list of them. */
export const paths: Rule<string | string[]> = {
  schema: v.union([path.schema, v.pipe(v.array(path.schema), v.minLength(1), v.maxLength(1000))]),
  type: 'string',
  expects: sentence`a path, or a list of paths`,
};

/** A release as its makers number it: `26.06`, `0.15.1`. */
export const version: Rule<string> = {
  schema: v.pipe(v.string(), v.maxLength(40), v.regex(/^v?\d[\w.+-]*$/)),
  type: 'string',
  expects: sentence`a version, as "26.06"`,
};

/** One of a few words or numbers. @param meant other words for them, in lower case; a sentence explains what to do instead. */
export function choiceRule<const T extends readonly (string | number)[]>(
  options: T,
  meant: NonNullable<Rule<unknown>['meant']> = {},
): Rule<T[number]> {
  return {
    schema: v.picklist(options),
    type: typeof options[0] === 'number' ? 'number' : 'string',
    expects: anyOf(options.map((option) => (typeof option === 'string' ? `"${option}"` : String(option)))),
    words: options.filter((option) => typeof option === 'string'),
    meant,
  };
}

/** Whether two names are the same, in any case, with or without dashes, underscores and spaces. */
export function sameWord(a: string, b: string): boolean {
  const plain = (word: string): string => word.toLowerCase().replaceAll(/[-_\s]/g, '');
  return a.length <= 200 && b.length <= 200 && plain(a) === plain(b);
}

/** One of a few words, or a whole number between two bounds. */
export function integerOr<const T extends readonly string[]>(words: T, minimum: number, maximum: number): Rule<T[number] | number> {
  const [word, whole] = [choiceRule(words), integer(minimum, maximum)];
  return { schema: v.union([word.schema, whole.schema]), type: 'number', expects: sentence`${word.expects} or ${whole.expects}` };
}

/** The same, or null. */
export function orNull<T>(rule: Rule<T>): Rule<T | null> {
  const { limit, type } = rule;
  return { ...(limit !== undefined && { limit }), type, schema: v.nullable(rule.schema), expects: sentence`${rule.expects}, or null` };
}

/** A list of `minimum` to `maximum` entries, each by the same schema. */
export function list<T>(schema: v.GenericSchema<unknown, T>, minimum: number, maximum: number, expects: Value): Rule<T[]> {
  return { schema: v.pipe(v.array(schema), v.minLength(minimum), v.maxLength(maximum)), type: 'list', expects };
}
