import { closest } from '../core/suggest';
import { ExpectedError } from '../core/errors';
import { formatCount } from '../core/format';
import { parseAmount } from '../core/amounts';
import { sameWord } from '../core/domain/settings/rules';
import type { ResolveDefaults } from '../core/plan-request/scenario';
import type { Machine } from '../core/plan-request/machine';
import { orList, quoted } from '../core/text';
import type { Answer } from './answer';
import type { Terminal } from './terminal';
import { sentence, type Sentence } from '../core/sentence';

/** An option, as it is written and as the help shows it. */
export interface Option {
  /** Placeholder for its value in the help, as `SECONDS`; left out: it takes none. */
  readonly value?: string;
  /** What it does, which the help breaks into lines; a list is of lines as they are. */
  readonly help: string | readonly string[];
  /** One-letter form. */
  readonly short?: string;
  /** A value that means something else, and what. */
  readonly also?: { readonly value: string; readonly help: string };
}

export type Options = Readonly<Record<string, Option>>;

/** What was given of some options: a text for each that takes a value, true for each that takes none. */
export type Given<O extends Options = Options> = {
  readonly [Name in keyof O]?: string extends Name ? string | true : O[Name] extends { readonly value: string } ? string : true;
};

/** What every command receives. */
export interface Line {
  /** FILE; `-` for standard input. */
  readonly path: string;
  /** All paths: more than one of a command that takes `PATH...`; with WHAT after FILE, or FILE after LOG. */
  readonly paths: readonly string[];
  /** `key=value` settings overriding the files, in order. */
  readonly sets: readonly string[];
  /** What flags set for the machine: obeyed where no file sets it otherwise. */
  readonly machine: Machine;
  /** For what neither a file nor a flag sets. */
  readonly defaults: ResolveDefaults;
  /** A profile to plan with, overriding the files; `none`: none. */
  readonly profile: string | null;
  /** The model of a launcher's file: a config.json, or one of Hugging Face's hub. */
  readonly model?: string | undefined;
  /** Whether the answer is printed as JSON. */
  readonly json: boolean;
  /** Options as written, in order. */
  readonly options: readonly { readonly name: string; readonly value?: string | undefined }[];
  /** Options that are before FILE. */
  readonly beforePath: ReadonlySet<string>;
}

/** Does what a command line asks for; `texts` keeps every text that is read, for messages. */
export type Run = (terminal: Terminal, texts: Map<string, string>) => Promise<Answer>;

/** A command of the terminal face: its options, its help, and what it does. */
export interface Command<O extends Options = Options> {
  /** In brackets: it may be left out; empty: it takes nothing. */
  readonly takes: 'FILE' | 'FILE WHAT' | 'LOG [FILE]' | 'PATH...' | '[FOLDER]' | '';
  /** What it answers, in a few words. */
  readonly description: string;
  /** In addition to those of all commands. Commands that share an option name the same object. */
  readonly options: O;
  /** Further help: lines as they are. */
  readonly notes?: string;
  /**
   * Understands the options, before anything is read. (As a method, so that a list may hold commands of different options: the parser gives
   * each what its options say.)
   * @throws ExpectedError `usage`.
   */
  start(line: Line, given: Given<O>): Run;
}

/** A command whose `start` knows the types of its options. */
export function defineCommand<const O extends Options>(definition: Command<O>): Command<O> {
  return definition;
}

/** A command line that cannot be understood. */
export function usage(message: Sentence, remedy: Sentence): ExpectedError {
  return new ExpectedError('usage', message, remedy);
}

/**
 * A whole number from 1 to `most`, which may be an amount (`8k`, `1e2`); null where nothing is given.
 * @throws ExpectedError `usage`.
 */
export function parseCount(option: string, written: string | undefined, most = 1_000_000): number | null {
  if (written === undefined) return null;
  const count = parseAmount(written, 'binary');
  if (count === null || !Number.isInteger(count) || count < 1 || count > most)
    throw usage(sentence`${option} is ${quoted(written)}`, sentence`give it a whole number from 1 to ${formatCount(most)}`);
  return count;
}

/** The one of `names` that is written, in any case. @param isNot what another name is, as `no provider`. @throws ExpectedError `usage`. */
export function parseChoice<Name extends string>(names: readonly Name[], written: string, isNot: string): Name {
  const found = names.find((name) => name === written) ?? names.find((name) => sameWord(name, written));
  if (found !== undefined) return found;
  const meant = closest(written, names);
  const choices = orList(names);
  throw usage(
    sentence`${quoted(written)} is ${isNot}`,
    meant === null ? sentence`use ${choices}` : sentence`did you mean ${meant}? There are ${choices}`,
  );
}

/** Refuses options that do different things. @throws ExpectedError `usage`. */
export function refuseBoth<O extends Options>(given: Given<O>, one: keyof O & string, other: keyof O & string): void {
  if (given[one] !== undefined && given[other] !== undefined)
    throw usage(sentence`--${one} and --${other} do different things`, sentence`give one of them`);
}
