import type { LogProgram, RunLog } from './run-log';

/** Reads the lines of a log in order. */
export interface LogLines {
  /** @param line without colours and its end. */
  readonly push: (line: string) => void;
  /** Null: no line has a step. */
  readonly end: () => RunLog | null;
}

/** How a trainer logs. */
export interface LogFormat {
  readonly program: LogProgram;
  /** As people know it. */
  readonly name: string;
  /** Matches a text only if it has a step of this trainer. */
  readonly stepLine: RegExp;
  /** Matches every line that it reads and few others: most lines of a log have nothing to read. */
  readonly anyLine: RegExp;
  readonly read: () => LogLines;
}
