import type { LogProgram, RunLog } from './run-log';

/** Reads the lines of a log in order. */
export interface LogLines {
  /** @param line without colours and its end. */
  readonly push: (line: string) => void;
  /** Null: no line told a step. */
  readonly end: () => RunLog | null;
}

/** How a trainer logs. */
export interface LogFormat {
  readonly program: LogProgram;
  /** As people know it. */
  readonly name: string;
  /** Found in a text only where one of its steps is told. */
  readonly tells: RegExp;
  /** Finds whatever line it reads, and few others: most lines of a log tell nothing. */
  readonly hears: RegExp;
  readonly read: () => LogLines;
}
