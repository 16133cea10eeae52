import type * as v from 'valibot';
import type { CancelSignal } from '../../../core/errors';
import type { ResolveDefaults } from '../../../core/plan-request/scenario';
import type { LauncherReader } from '../../../core/run/facts';
import type { ReadReferenced } from '../../../core/run/run';
import { printable } from '../../../core/text';

/** Tokens of an answer, its text and its data together. */
export const mostTokens = 1500;

/** Tokens that a model counts in a text, as an upper estimate: digits by three, words by five letters, each other sign by itself. */
export function countTokens(text: string): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(/[A-Za-z]+|\d+|[^\sA-Za-z\d]|\n/g)) {
    const per = /^\d/.test(piece) ? 3 : 5;
    tokens += Math.ceil(piece.length / per);
  }
  return tokens;
}

/**
 * An answer within `mostTokens`: lines are in the order of their weight, and the last ones are left out where they are too many, which the
 * answer reports.
 */
export function boundedAnswer(lines: readonly (string | null)[], data: ToolAnswer['data']): ToolAnswer {
  const shown = lines.filter((line): line is string => line !== null && line !== '').map(tidy);
  const room = mostTokens - countTokens(JSON.stringify(data)) - 30;
  const kept: string[] = [];
  let tokens = 0;
  for (const line of shown) {
    tokens += countTokens(line) + 1;
    if (tokens > room) break;
    kept.push(line);
  }
  const left = shown.length - kept.length;
  if (left > 0) kept.push(`${left} more lines are left out: ask about one part, or run terapipe with --all or --json.`);
  return { text: kept.join('\n'), data };
}

/** One line, whose sentences end with one full stop. */
function tidy(line: string): string {
  return printable(line.replaceAll(/\s*\\?\n\s*/g, ' '))
    .replaceAll(/\.\.(?=\s|$)/g, '.')
    .replaceAll(/\?\.(?=\s|$)/g, '?');
}

/** A list cut to its first entries. */
export function few<T>(items: readonly T[], most: number): readonly T[] {
  return items.slice(0, most);
}

/** Four significant digits: data is read by models, for whom more are only tokens. */
export function rounded(value: number, digits = 4): number {
  return Number.isFinite(value) ? Number(value.toPrecision(digits)) : value;
}

/** GiB with two decimals. */
export function gib(bytes: number): number {
  return Math.round((bytes / 2 ** 30) * 100) / 100;
}

/** A text and the name it goes by. */
export interface SourceText {
  readonly file: string;
  readonly text: string;
}

/** Where a tool reads and how it is stopped. It has no way to write. */
export interface ToolHost {
  /** Reads a file that was asked for. Rejects with ExpectedError, also for one outside the folders that may be read. */
  readonly open: (path: string) => Promise<SourceText>;
  /** Reads what a config names. */
  readonly read: ReadReferenced;
  readonly shell: () => Promise<LauncherReader>;
  /** What holds where neither the file nor the question sets it. */
  readonly defaults: ResolveDefaults;
  readonly signal: CancelSignal;
  /** Hears how far long work is. */
  readonly progress: (text: string) => void;
  /** Milliseconds since some moment. */
  readonly clock: () => number;
}

/** What a tool answers. */
export interface ToolAnswer {
  /** Plain sentences, a line each. */
  readonly text: string;
  /** The same as data: times ms, memory bytes, lengths tokens. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

type InputSchema = v.ObjectSchema<v.ObjectEntries, undefined> | v.StrictObjectSchema<v.ObjectEntries, undefined>;

/** A question that agents may ask. */
export interface Tool<S extends InputSchema = InputSchema> {
  readonly title: string;
  /** What it answers and when to call it: the only text that a model reads before it calls. */
  readonly description: string;
  readonly input: S;
  /** A call that works, which a refusal of bad input shows. */
  readonly example: v.InferInput<S>;
  /** (As a method, so that a list may hold tools of different inputs.) @throws ExpectedError; CancelledError. */
  run(asked: v.InferOutput<S>, host: ToolHost): Promise<ToolAnswer> | ToolAnswer;
}

/** A tool whose `run` knows the types of its input. */
export function defineTool<const S extends InputSchema>(tool: Tool<S>): Tool<S> {
  return tool;
}
