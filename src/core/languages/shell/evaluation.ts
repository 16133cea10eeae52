import type { TextRange } from '../../domain/located';
import type { Variable } from './expand';
import type { ShellParser } from './parser';
import type { Element, Part, Value } from './words';

/** One of several branches of a statement, at most one of which is taken. */
export interface Branch {
  /** Where the statement starts. */
  readonly site: number;
  readonly index: number;
}

/** A command that the script may run, with its variables as they are at that point. */
export interface Command extends TextRange {
  readonly words: readonly Element[];
  /** Variables that only it gets: `TP=2 bash run.sh`. */
  readonly environment: ReadonlyMap<string, Value>;
  /** The branches that it is in, outermost first. */
  readonly branches: readonly Branch[];
}

/** A here-document that is written to a file. */
export interface HereDocument extends TextRange {
  readonly parts: readonly Part[];
}

/** A list of flags that is only used under a condition. */
export interface MaybeValue {
  readonly value: Value;
  readonly condition: TextRange;
}

/** A file that a script sources. */
export interface Sourced {
  /** From its last part that is only known when the script runs; null: its name is not known. */
  readonly path: string | null;
  /** Nothing before `path` is known only at run time. */
  readonly isWhole: boolean;
  /** The word that names it. */
  readonly range: TextRange;
  readonly isFound: boolean;
}

/** What `evaluate` asks of others. */
export interface ScriptHost {
  readonly parse: ShellParser['parse'];
  /** A file that a script sources, by the end of its path; null: it is not here. */
  readonly sourced: (path: string) => { readonly file: string; readonly text: string } | null;
}

/** What a script does, as far as it can be known without running it. */
export interface Evaluation {
  readonly sourced: readonly Sourced[];
  /** Lines of commands that another shell takes and that cannot be read. */
  readonly lost: readonly TextRange[];
  readonly commands: readonly Command[];
  readonly hereDocuments: readonly HereDocument[];
  readonly variables: ReadonlyMap<string, Variable>;
  readonly maybe: readonly MaybeValue[];
}
